import { randomInt } from 'node:crypto';

import type { Violation } from '../../../src/domain/audit/facts.ts';
import { revisionPhase } from '../../../src/domain/deployment/revision.ts';
import type {
  HistoryRow,
  LateRevision,
  LateUpload,
  TargetState,
} from '../../../src/domain/target/targetState.ts';
import { Observer } from '../observer.ts';
import { eventually, Stack } from '../stack.ts';
import { ChaosTarget } from './chaosTarget.ts';
import { Kills, processesWith } from './kills.ts';
import { NetworkFaults } from './networkFaults.ts';
import { planChaos } from './plan.ts';
import { Random } from './random.ts';
import { Tally } from './tally.ts';

/** How much chaos. The same seed gives the same releases and the same faults. */
export interface ChaosOptions {
  /** Default: any. */
  readonly seed?: number;
  readonly releases: number;
  readonly targets: number;
  readonly onProgress?: (line: string) => void;
}

/** The final state of one target. */
export interface TargetReport {
  readonly deployment: string;
  readonly rows: readonly HistoryRow[];
  /** What the target restored because an abandoned revision became active. */
  readonly servesAsReported: boolean;
  /** Its agent's answer to a real run; `null` if nothing was ever deployed. */
  readonly answer: string | null;
}

/** The result of a run. */
export interface ChaosReport {
  readonly seed: number;
  readonly asked: number;
  readonly tookMs: number;
  readonly faults: Tally;
  readonly said: Tally;
  readonly requests: number;
  readonly targets: readonly TargetReport[];
  readonly violations: readonly Violation[];
  /** Processes that still ran after everything had been stopped. */
  readonly orphans: readonly string[];
}

/** The limit after the last release for repairs that still run, for example of a late revision. */
const QUIET_MS = 240_000;

/**
 * Releases on several targets while network and processes fail at random, and checks the safety rules.
 * @throws Error if a release is stuck, or a target does not become idle.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const seed = options.seed ?? randomInt(2 ** 31);
  const startedAt = Date.now();
  const progress = (line: string): void =>
    options.onProgress?.(`${Math.round((Date.now() - startedAt) / 1_000)} s: ${line}`);
  const random = new Random(seed);
  const plans = planChaos(random, options.releases, options.targets);
  const faults = new Tally();
  const said = new Tally();
  progress(`seed ${seed}, ${options.releases} releases on ${options.targets} targets`);
  const stack = await Stack.start({ SLIPWAY_READY_TIMEOUT_MS: '30000' });
  let seen: Omit<ChaosReport, 'orphans' | 'tookMs'>;
  try {
    const targets: ChaosTarget[] = [];
    for (const plan of plans) targets.push(await ChaosTarget.create(stack, plan, said, progress));
    const network = new NetworkFaults(random, faults);
    stack.proxy.rule = network.rule;
    const kills = new Kills(stack, random, faults, progress);
    try {
      await Promise.all(targets.map((target) => target.runErrands()));
    } finally {
      await kills.end();
      network.end();
    }
    progress(`everything is asked for, ${faults.total} faults so far; what is under way ends undisturbed`);
    const reports = await Promise.all(targets.map((target) => comeToRest(stack, target)));
    progress('every target is at rest');
    seen = {
      seed,
      asked: options.releases,
      faults,
      said,
      requests: stack.proxy.log.length,
      targets: reports,
      violations: await stack.audit({ controlPlane: true }),
    };
  } finally {
    await stack.stop();
  }
  const orphans = await leftOf(stack.folder);
  return { ...seen, orphans, tookMs: Date.now() - startedAt };
}

/** Waits until a target is idle and watches nothing, and sends its agent a run. */
async function comeToRest(stack: Stack, target: ChaosTarget): Promise<TargetReport> {
  const { deployment } = target.plan;
  const observer = new Observer(stack, deployment);
  const { state } = await eventually(async () => {
    const view = await target.view();
    const { queue, rollbacks } = view.state;
    const waits = view.running ?? queue[0] ?? rollbacks[0] ?? (await expected(observer, view.state));
    if (waits !== undefined) throw new Error(`stuck: ${deployment} is at work on ${JSON.stringify(waits)}`);
    return view;
  }, QUIET_MS);
  const active = (await observer.deployment()).active_revision_id;
  return {
    deployment,
    rows: state.history,
    servesAsReported: state.activeRevisionId === null || state.activeRevisionId === active,
    answer: active === null ? null : await eventually(() => observer.ask('Hello, I am Grace')),
  };
}

/**
 * What a target watches and must still act on: a revision that may become or has become active, or a late one. A
 * deployed revision that is no longer active is also watched until its deadline, but needs no action.
 */
async function expected(
  observer: Observer,
  { late, lateUploads }: TargetState,
): Promise<LateRevision | LateUpload | undefined> {
  if (late.length + lateUploads.length === 0) return undefined;
  // In this order: a revision that becomes active between the two reads is pending in the first, or active in the second.
  const revisions = await observer.revisions();
  const active = (await observer.deployment()).active_revision_id;
  const mayComeUp = revisions.filter(
    ({ id, status }) => id === active || revisionPhase(status) === 'pending',
  );
  return (
    late.find(({ revisionId }) => mayComeUp.some(({ id }) => id === revisionId)) ??
    lateUploads.find(({ objectPath, known }) =>
      revisions.some(
        ({ id, source_revision_config: { source_tarball_path: path } }) =>
          path === objectPath && !known.includes(id),
      ),
    )
  );
}

/** Agents need a few seconds to notice that their platform has ended. */
async function leftOf(folder: string): Promise<readonly string[]> {
  try {
    return await eventually(async () => {
      const left = await processesWith(folder);
      if (left.length > 0) throw new Error(left.join('\n'));
      return left;
    }, 30_000);
  } catch {
    return processesWith(folder);
  }
}
