import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';

import fc from 'fast-check';
import { INTERVENTION_KINDS } from '../../../src/domain/intervention/intervention.ts';
import type { Harness } from '../harness.ts';
import type { RecordedHistory } from '../recordedHistory.ts';
import type { Command } from './commands.ts';
import { endGuard, measure, type Measured, type When } from './guardCommands.ts';
import { garbage, hold, quarantine, rollBackTo, say, sayWhatFits, withdraw } from './messageCommands.ts';
import {
  cancelRelease,
  cancelTarget,
  releaseUnderOtherSpelling,
  resetTarget,
  terminateRelease,
  terminateTarget,
  touchLock,
} from './operatorCommands.ts';
import { ARTIFACTS, type Beginning, type Guarded, type Plan } from './plan.ts';
import {
  changeByHand,
  comesUpLate,
  goOn,
  loseWorker,
  provider,
  release,
  ruin,
  runAgain,
  slowAnswers,
  submitAgain,
  takeRound,
  withdrawSubmission,
} from './releaseCommands.ts';
import { SituationCounts } from './situations.ts';
import { Subject } from './subject.ts';
import { TargetModel } from './targetModel.ts';

const usually = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 5, arbitrary: fc.constant(usual) },
    { weight: 2, arbitrary: fc.constantFrom(...others) },
  );

const GUARDED: fc.Arbitrary<Guarded> = fc.record({
  noData: fc.constantFrom('continue' as const, 'rollback' as const),
  holds: usually(true, false),
});

const planned: fc.Arbitrary<Plan> = fc.record({
  artifact: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('good-1' as const, 'good-2' as const, 'good-3' as const) },
    { weight: 3, arbitrary: fc.constantFrom('fails' as const, 'breaks' as const) },
    { weight: 2, arbitrary: fc.constant('hangs' as const) },
  ),
  variant: usually<1 | 2>(1, 2),
  queue: usually<Plan['queue']>('latest', 'all'),
  overrideHold: usually(false, true),
  stop: fc.oneof(
    { weight: 3, arbitrary: fc.constant(null) },
    { weight: 2, arbitrary: fc.constantFrom('approval' as const, 'freeze' as const) },
    {
      weight: 2,
      arbitrary: fc.constantFrom('upload' as const, 'patch' as const, 'deployed' as const, 'check' as const),
    },
    { weight: 3, arbitrary: fc.constant('soak' as const) },
  ),
  freeze: usually<Plan['freeze']>('none', 'ends', 'refuses', 'is overridden'),
  onError: usually<Plan['onError']>('rollback', 'wait', 'stop'),
  create: usually<Plan['create']>('answered', 'taken', 'lost', 'conflict', 'too late'),
  upload: usually<Plan['upload']>('answered', 'answered', 'too late', 'refused'),
  patch: usually<Plan['patch']>(
    'answered',
    'old latest',
    'taken',
    'lost',
    'never answered',
    'refused',
    'too late',
  ),
  check: usually<Plan['check']>('answered', 'too late', 'unreachable'),
  soak: usually<Plan['soak']>('none', 'answered', 'fails', 'fails for all', 'unreachable'),
  guard: fc.option(GUARDED, { freq: 1 }),
  asks: usually<Plan['asks']>('what all answer', 'what it alone answers'),
  redeploy: usually<Plan['redeploy']>('answered', 'taken', 'lost', 'too late'),
});

/** While a release is held, no deadline may pass: neither an answer's nor a revision's. */
const plan = planned.map((drawn): Plan => {
  const stop = drawn.artifact === 'hangs' && drawn.stop === 'deployed' ? 'patch' : drawn.stop;
  const waits = stop === 'upload' || stop === 'patch' || stop === 'check';
  const answered = waits && drawn[stop] === 'too late' ? { [stop]: 'answered' } : {};
  const soak = stop === 'soak' && drawn.soak === 'none' ? 'answered' : drawn.soak;
  const freeze = stop === 'freeze' ? 'ends' : drawn.freeze;
  return { ...drawn, stop, soak, freeze, ...answered };
});

const way = fc.constantFrom('update' as const, 'signal' as const);
const where = fc.oneof(
  { weight: 3, arbitrary: fc.constant('the one before' as const) },
  { weight: 3, arbitrary: fc.nat(9) },
  { weight: 1, arbitrary: fc.constant('an unknown revision' as const) },
);
const by = fc.constantFrom('its id' as const, 'the beginning of its id' as const, 'its release' as const);
const leaving = fc.oneof(
  { weight: 3, arbitrary: fc.constant('what serves' as const) },
  { weight: 2, arbitrary: fc.constant('nothing' as const) },
  { weight: 1, arbitrary: fc.nat(9) },
);
const malformed = fc.constantFrom<unknown>(7, 'rollback!', [], [{ to: 'x' }], { who: ['ada'] });

const several = (times: number, command: fc.Arbitrary<Command>): fc.Arbitrary<Command>[] =>
  Array.from({ length: times }, () => command);

/** A command for a moment that is rare, and that chance alone would meet too seldom. */
const during = (isNow: (model: TargetModel) => boolean, rare: Command): Command => ({
  check: (model) => isNow(model as TargetModel) && rare.check(model),
  run: (model, subject) => rare.run(model, subject),
  toString: () => rare.toString(),
});
const runs = ({ running }: TargetModel): boolean => running !== null;
const soaks = ({ running }: TargetModel): boolean => running?.stage === 'soak';
const stops = ({ running }: TargetModel): boolean => running?.stopped === true;

const measured = fc
  .tuple(
    fc.constantFrom<Measured>('worse', 'good', 'nothing'),
    fc.constantFrom<When>('now', 'five times', 'at its end'),
  )
  .map((said) => measure(...said));

/** The possible commands. Repeated entries are more likely. Those that are not possible at a moment are left out. */
const COMMANDS: fc.Arbitrary<Command>[] = [
  ...several(
    8,
    fc.tuple(plan, usually(false, false, true)).map((asked) => release(...asked)),
  ),
  fc.nat(3).map(submitAgain),
  ...several(2, fc.nat(3).map(runAgain)),
  ...several(
    10,
    fc.nat(3).map((pick) => during(stops, runAgain(pick))),
  ),
  ...several(
    2,
    fc.tuple(fc.nat(3), way).map((said) => withdrawSubmission(...said)),
  ),
  ...several(7, fc.constant(0).map(goOn)),
  ...several(3, fc.constant(0).map(takeRound)),
  ...several(5, measured),
  ...several(
    10,
    measured.map((command) => during(runs, command)),
  ),
  ...several(2, fc.constantFrom('cancel' as const, 'terminate' as const).map(endGuard)),
  ...several(
    3,
    fc.tuple(where, by, leaving, way, usually(false, true)).map((said) => rollBackTo(...said)),
  ),
  ...several(
    3,
    way.map((by) => rollBackTo('what soaks', 'its id', 'nothing', by, false)),
  ),
  ...several(
    3,
    fc.tuple(fc.boolean(), way).map((said) => hold(...said)),
  ),
  ...several(
    2,
    fc.tuple(fc.constantFrom(...ARTIFACTS), fc.boolean(), way).map((said) => quarantine(...said)),
  ),
  ...several(
    4,
    fc
      .tuple(
        fc.constantFrom(...INTERVENTION_KINDS, 'skip the soak' as const, 'skip the freeze' as const),
        way,
      )
      .map((said) => say(...said)),
  ),
  ...several(
    8,
    fc.tuple(fc.nat(5), way).map((said) => sayWhatFits(...said)),
  ),
  ...several(2, fc.constant(0).map(loseWorker)),
  way.map(withdraw),
  fc
    .tuple(fc.constantFrom('rollback', 'hold', 'unhold', 'quarantine', 'withdraw'), malformed, way)
    .map((said) => garbage(...said)),
  ...several(2, fc.constant(0).map(terminateTarget)),
  fc.constant(0).map(cancelTarget),
  ...several(2, fc.constantFrom('first' as const, 'middle' as const, 'last' as const).map(resetTarget)),
  ...several(2, fc.constant(0).map(cancelRelease)),
  ...several(2, fc.constant(0).map(terminateRelease)),
  fc.constantFrom('terminate' as const, 'cancel' as const).map(touchLock),
  plan.map(releaseUnderOtherSpelling),
  ...several(3, fc.constant(0).map(comesUpLate)),
  ...several(
    8,
    fc.constant(0).map(() => during(runs, comesUpLate())),
  ),
  ...several(2, fc.constant(0).map(changeByHand)),
  ...several(
    2,
    fc.constant(0).map(() => during(soaks, changeByHand())),
  ),
  fc.nat(9).map(ruin),
  ...several(2, fc.boolean().map(provider)),
  ...several(2, fc.boolean().map(slowAnswers)),
];

const SIMPLE: Plan = {
  ...{ artifact: 'good-1', variant: 1, queue: 'latest', overrideHold: false, stop: null, freeze: 'none' },
  ...{ onError: 'rollback', create: 'answered', upload: 'answered', patch: 'answered', check: 'answered' },
  ...{ soak: 'none', guard: null, asks: 'what all answer', redeploy: 'answered' },
};
const WAITS: Plan = { ...SIMPLE, artifact: 'good-2', stop: 'approval' };
const FROZEN: Plan = { ...WAITS, stop: 'freeze', freeze: 'ends' };

const beginning: fc.Arbitrary<Beginning> = fc.record({
  deployment: fc.constantFrom('serving' as const, 'empty' as const, 'elsewhere' as const),
  redeployMakesRevision: fc.boolean(),
  continueAsNewAfterEvents: fc.constantFrom(4_000, 40),
  // So that sequences come by what happens to guards, and to releases that wait: beside one, over a copy, or while a revision
  // that was given up on may come up.
  releases: fc.oneof(
    { weight: 6, arbitrary: fc.constant([]) },
    { weight: 3, arbitrary: GUARDED.map((guard) => [{ ...SIMPLE, guard }]) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(GUARDED, fc.constantFrom(WAITS, FROZEN))
        .map(([guard, next]) => [{ ...SIMPLE, guard }, next]),
    },
    {
      weight: 2,
      arbitrary: fc
        .constantFrom('fails' as const, 'hangs' as const)
        .map((artifact) => [SIMPLE, { ...SIMPLE, artifact }, WAITS]),
    },
  ),
});

/** What to run, and how to repeat it. */
export interface Sequences {
  readonly runs: number;
  readonly seed: number;
  /** The path of a reported failure: runs only that one. */
  readonly path?: string;
  /** How many sequences run concurrently, each on its own target. */
  readonly lanes: number;
  readonly historiesMax: number;
  /** Called after each sequence with the number of those that passed. */
  readonly onProgress?: (sequences: number) => void;
}

export interface Ran {
  readonly sequences: number;
  readonly commands: number;
  readonly situations: SituationCounts;
  readonly histories: readonly RecordedHistory[];
}

/**
 * Runs sequences of commands on targets and on the model, and compares the two after each command. Each lane has its
 * own seed, which a failure reports.
 * @throws the shortest failing sequence, with its seed and its path.
 */
export async function runSequences(harness: Harness, options: Sequences): Promise<Ran> {
  const { runs, seed, path, lanes, historiesMax, onProgress } = options;
  const histories: RecordedHistory[] = [];
  const situations = new SituationCounts();
  let sequences = 0;
  let commands = 0;
  const count = path === undefined ? lanes : 1;
  const lane = (index: number): Promise<void> => {
    const [where, replayPath] = path?.split(' ') ?? [];
    const property = fc.asyncProperty(
      beginning,
      fc.commands(COMMANDS, {
        maxCommands: 40,
        size: 'max',
        ...(replayPath === undefined ? {} : { replayPath }),
      }),
      async (begins, happens) => {
        const subject = new Subject(harness, `model-${randomUUID()}`, begins);
        const model = new TargetModel(begins);
        try {
          const setUp = async () => {
            for (const plan of begins.releases) await release(plan, false).run(model, subject);
            return { model, real: subject };
          };
          await fc.asyncModelRun(setUp, happens);
          commands += model.commands;
          const made = await subject.close(model);
          situations.add(new Set([...model.met, ...subject.world.met]));
          if (histories.length < historiesMax) histories.push(...made);
          onProgress?.(++sequences);
        } catch (error) {
          // Shrinking takes long, so this failure is printed first in case the run is interrupted.
          process.stdout.write(
            `model: a sequence went wrong\n${inspect({ begins, happens: [...happens].map((command) => command.toString()), error }, { depth: 8 })}\n`,
          );
          await subject.abandon();
          throw error;
        }
      },
    );
    return fc.assert(property, {
      numRuns: Math.ceil(runs / count),
      seed: seed + index,
      includeErrorInReport: true,
      ...(where === undefined ? {} : { path: where, endOnFailure: true }),
    });
  };
  const ended = await Promise.allSettled(Array.from({ length: count }, (_, index) => lane(index)));
  const failures = ended.flatMap((end) => (end.status === 'rejected' ? [String(end.reason)] : []));
  if (failures.length > 0) throw new Error(failures.join('\n\n'));
  return { sequences, commands, situations, histories };
}
