import type { Random } from './random.ts';

/** What is released, by its expected result: a folder of `examples/`. */
export type Variant = 'good' | 'wrong answer' | 'crash at start' | 'does not build';

/** A command sent to a target after a release request. */
export type Word =
  | 'nothing'
  | 'rollback by update'
  | 'rollback by signal'
  | 'abort by update'
  | 'abort by signal'
  | 'pause and resume'
  | 'hold'
  | 'quarantine and ask again'
  | 'terminate the target'
  | 'garbage';

/** One release request, and what happens around it. */
export interface Errand {
  readonly variant: Variant;
  /** After how many milliseconds the requesting command is killed and run again; `null`: it is not killed. */
  readonly commandKilledAfterMs: number | null;
  readonly word: Word;
  /** When the command is sent, in milliseconds after the release was queued. */
  readonly wordAfterMs: number;
  /** Whether to wait for the release's end before the next request. */
  readonly settles: boolean;
  /** Whether to end a hold before the next request, which the target would otherwise reject. */
  readonly liftsHold: boolean;
}

/** What happens to one target: its settings, and its releases one after the other. */
export interface TargetPlan {
  readonly deployment: string;
  readonly source: 'tarball' | 'git';
  readonly queue: 'latest' | 'all';
  readonly errands: readonly Errand[];
}

/** Plans the releases of all targets; the same seed gives the same plan. The last target uses git refs. */
export function planChaos(random: Random, releases: number, targets: number): readonly TargetPlan[] {
  return Array.from({ length: targets }, (_, number) => ({
    deployment: `chaos-${number + 1}`,
    source: number === targets - 1 ? 'git' : 'tarball',
    queue: number % 2 === 0 ? 'latest' : 'all',
    errands: Array.from(
      { length: Math.floor(releases / targets) + (number < releases % targets ? 1 : 0) },
      (__, turn) => errand(random, `target ${number + 1} release ${turn + 1}`, turn === 0),
    ),
  }));
}

/** The first release of a target is a good one without interventions, so that there is a revision to restore. */
function errand(random: Random, subject: string, isFirst: boolean): Errand {
  const draw = <T>(choices: readonly (readonly [number, T])[], what: string): T =>
    random.pick(choices, `${subject} ${what}`);
  return {
    variant: isFirst ? 'good' : draw(VARIANTS, 'variant'),
    commandKilledAfterMs: random.chance(0.3, `${subject} command`)
      ? random.between(100, 4_000, `${subject} command after`)
      : null,
    word: isFirst ? 'nothing' : draw(WORDS, 'word'),
    wordAfterMs: random.between(0, 8_000, `${subject} word after`),
    settles: isFirst || random.chance(0.6, `${subject} settles`),
    liftsHold: random.chance(0.7, `${subject} lifts`),
  };
}

const VARIANTS: readonly (readonly [number, Variant])[] = [
  [6, 'good'],
  [2, 'wrong answer'],
  [1, 'crash at start'],
  [1, 'does not build'],
];

const WORDS: readonly (readonly [number, Word])[] = [
  [7, 'nothing'],
  [1, 'rollback by update'],
  [2, 'rollback by signal'],
  [1, 'abort by update'],
  [1, 'abort by signal'],
  [2, 'pause and resume'],
  [1, 'hold'],
  [1, 'quarantine and ask again'],
  [1, 'terminate the target'],
  [2, 'garbage'],
];
