import { type Bound, newest } from './bounds.ts';
import type { Actor } from './release.ts';

/** What a person may say to a release under way. */
export const INTERVENTION_KINDS = [
  /** Stop; what was changed is put back. */
  'abort',
  /** Begin no further step. */
  'pause',
  /** Go on after a pause. */
  'resume',
  /** Let a release go on that waits for approval. */
  'approve',
  /** End a release that waits for approval. */
  'reject',
  /** Take up the step again that nobody could tell the outcome of. */
  'retry',
  /** Leave a check, the rest of the soak, the judge, or a freeze out. */
  'skip',
] as const;

export type InterventionKind = (typeof INTERVENTION_KINDS)[number];

/** What a `skip` that leaves the rest of the soak out names. */
export const SOAK = 'soak';

/** What a `skip` that releases in spite of a freeze names. */
export const FREEZE = 'freeze';

/** What a `skip` that promotes without the judge's verdict names. */
export const JUDGE = 'judge';

/** One thing that was said to a release. */
export interface Intervention {
  /** Says the same thing once: a repeated id is the same intervention. */
  readonly id: string;
  readonly kind: InterventionKind;
  /** What a `skip` leaves out: a check's name, `soak`, `judge`, or `freeze`. It must name it. */
  readonly what?: string;
  readonly by: Actor;
}

/** An intervention and what came of it: kept with the release. */
export interface InterventionRecord extends Omit<Intervention, 'kind'> {
  /**
   * `preempt`: not of people, but from the target, for a rollback; recorded where it was not acted upon. `unknown`: a
   * signal under a name that nobody knows, which the note begins with.
   */
  readonly kind: InterventionKind | 'preempt' | 'unknown';
  readonly at: string;
  /** `false`: it was said at the wrong moment, and changed nothing. */
  readonly taken: boolean;
  /** What it did, or the moment at which it came. */
  readonly note: string;
}

/** How much is kept of what was taken, and as much again of what was not. */
const KEPT: Bound = { items: 50, bytes: 100_000 };

/**
 * Adds to what was said to a release. Of very much only the newest is kept; what was said in vain, however often,
 * displaces nothing that was taken.
 */
export function addIntervention(
  said: readonly InterventionRecord[],
  record: InterventionRecord,
): readonly InterventionRecord[] {
  const all = [...said, record];
  const newestOf = (taken: boolean) =>
    newest(
      all.filter((other) => other.taken === taken),
      KEPT,
    );
  const kept = new Set([...newestOf(true), ...newestOf(false)]);
  return all.filter((other) => kept.has(other));
}

/** The answer to an intervention. */
export interface InterventionAnswer {
  readonly id: string;
  readonly disposition: 'taken' | 'repeated';
  readonly note: string;
}

/** Who must agree before a release changes its target. */
export interface ApprovalPolicy {
  /** How many people must approve. */
  readonly required: number;
  /** Who may. Absent: anybody but whoever asked for the release. */
  readonly approvers?: readonly string[];
  /** How long it is waited for, in milliseconds; then the release ends `aborted`. */
  readonly withinMs: number;
  /** What counts where nobody says anything in time. Absent: `reject`. */
  readonly otherwise?: 'reject' | 'approve';
}

/** Why fewer people may approve than must; `undefined` if there are enough. */
export function tooFewApprovers({
  required,
  approvers,
}: {
  readonly required: number;
  readonly approvers?: readonly string[] | undefined;
}): string | undefined {
  const people = new Set(approvers).size;
  if (approvers === undefined || people >= required) return undefined;
  return `can never be reached: ${people === 1 ? 'one person' : `${people} people`} may approve`;
}

/** Where a release, or a promotion, stands, as far as that decides what may be said to it. */
export interface Standing {
  /** What it is called. Absent: a release. */
  readonly called?: 'promotion';
  readonly phase: 'forward' | 'restoring' | 'ended';
  readonly paused: boolean;
  /** What it waits for a person to say. */
  readonly awaiting: 'approval' | 'decision' | null;
  /** The checks that are still to pass, and `freeze`, `soak` and `judge` while they are still to come or passing. */
  readonly ahead: readonly string[];
  readonly requestedBy: Actor;
  readonly approval: ApprovalPolicy | null;
  /** Who made what is to be approved, beside whoever asked. */
  readonly madeBy?: readonly string[];
  /** Who has approved. */
  readonly approvedBy: readonly string[];
}

/**
 * Why something cannot be said to a release at this moment: a sentence that names the moment; `undefined` where it
 * can.
 */
export function interventionProblem(standing: Standing, said: Omit<Intervention, 'id'>): string | undefined {
  const { phase, paused, awaiting, called = 'release' } = standing;
  if (phase === 'ended') return `the ${called} has ended`;
  if (phase === 'restoring')
    return `the ${called} is putting an earlier revision back, which is never stopped halfway`;
  switch (said.kind) {
    case 'abort':
      return undefined;
    case 'pause':
      return paused ? `the ${called} is paused already` : undefined;
    case 'resume':
      return paused ? undefined : `the ${called} is not paused`;
    case 'approve':
      return awaiting === 'approval'
        ? approvalProblem(standing, said.by)
        : `the ${called} does not wait for approval`;
    case 'reject':
      return awaiting === 'approval' ? undefined : `the ${called} does not wait for approval`;
    case 'retry':
      return awaiting === 'decision' ? undefined : `no step of the ${called} waits for a decision`;
    case 'skip':
      return skipProblem(standing, said.what);
  }
}

function approvalProblem(
  { approval, requestedBy, madeBy = [], approvedBy }: Standing,
  by: Actor,
): string | undefined {
  if (by.who === requestedBy.who) return 'nobody approves what they asked for themselves';
  if (madeBy.includes(by.who)) return 'nobody approves what they released themselves';
  if (approvedBy.includes(by.who)) return `${by.who} has approved already`;
  const approvers = approval?.approvers;
  if (approvers !== undefined && !approvers.includes(by.who)) {
    return `${by.who} is none of those who may approve: ${approvers.join(', ')}`;
  }
  return undefined;
}

function skipProblem(standing: Standing, named: string | undefined): string | undefined {
  const { ahead, called = 'release' } = standing;
  if (ahead.length === 0) return `no check and no soak of the ${called} lies ahead`;
  const told = ahead.join(', ');
  if (named === undefined)
    return `a "skip" must name what it leaves out ("what"); ahead of the ${called}: ${told}`;
  return ahead.includes(named) ? undefined : `"${named}" does not lie ahead; what does: ${told}`;
}
