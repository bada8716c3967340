import { SlipwayError } from '../../../domain/errors.ts';
import type { TemporalConnection } from '../../../temporal/client/connection.ts';
import { pollingWorkers, requireWorker } from '../../../temporal/client/workerPresence.ts';
import {
  type DescribedRouting,
  describeRouting,
  previousVersion,
  routeTo,
  type Routing,
  versionsStartingWith,
  type VersionStatus,
} from '../../../temporal/versions/routing.ts';
import { workerVersion } from '../../../temporal/versions/workerVersion.ts';
import {
  moveTo,
  replayFailures,
  runningPinned,
  runningUnpinned,
} from '../../../temporal/versions/runningWork.ts';
import { BUNDLE_PATH } from '../../../worker.ts';
import type { CommandContext } from '../../context.ts';
import type { EventOf } from '../../events/index.ts';
import { withTemporal } from '../../openTemporal.ts';
import type { Output } from '../../output.ts';
import { counted } from '../../ui/text.ts';
import { logOnStderr } from './workerLog.ts';

/** The options of `slipway worker rollout`; at most one of the first four. */
export interface RolloutOptions {
  readonly ramp?: number;
  readonly current?: boolean;
  readonly back?: boolean;
  readonly moveFrom?: string;
  /** `false`: changes the routing without replaying running workflows. */
  readonly replay: boolean;
}

/**
 * `slipway worker rollout [VERSION]`: shows the worker versions, and changes which one gets new work. VERSION is a
 * build id or its first characters. Default: the version of this installation.
 * @returns the exit code: 3 if a release could not be moved.
 * @throws SlipwayError SLIPWAY_VERSION_UNKNOWN, SLIPWAY_NO_WORKER, SLIPWAY_REPLAY_FAILED, SLIPWAY_ROLLOUT_REFUSED,
 * SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function runRolloutCommand(
  context: CommandContext,
  wanted: string | undefined,
  options: RolloutOptions,
): Promise<number> {
  if (options.back === true && wanted !== undefined) {
    const hint = `send all new work to ${wanted} with --current`;
    throw new SlipwayError('SLIPWAY_USAGE', '--back chooses the version itself', { place: wanted, hint });
  }
  return withTemporal(context, async (temporal) => {
    const own = await workerVersion(temporal.settings.taskQueue, BUNDLE_PATH);
    const routing = await requireRouting(temporal);
    const rollout = { temporal, routing, own: own.buildId, output: context.output };
    const version = (): string => find(routing, wanted ?? own.buildId);
    let code = 0;
    if (options.moveFrom !== undefined) code = await move(rollout, options.moveFrom, version());
    else if (options.back === true) await goBack(rollout, options);
    else if (options.ramp === 0) await endRamp(rollout);
    else if (options.current === true || options.ramp !== undefined)
      await changeRouting(rollout, version(), options);
    await show(rollout);
    return code;
  });
}

interface Rollout {
  readonly temporal: TemporalConnection;
  readonly routing: DescribedRouting;
  /** This installation's version: the only one whose bundle can be replayed here. */
  readonly own: string;
  readonly output: Output;
}

/** While a ramp exists, going back ends the ramp. */
function goBack(rollout: Rollout, { replay }: RolloutOptions): Promise<void> {
  const { routing } = rollout;
  if (routing.ramping !== undefined) return endRamp(rollout);
  return changeRouting(rollout, requirePrevious(routing), { replay });
}

async function endRamp({ temporal, routing, output }: Rollout): Promise<void> {
  if (routing.ramping === undefined) {
    output.print('no version ramps');
    return;
  }
  const { buildId } = routing.ramping;
  await routeTo(temporal, routing, buildId, 0);
  output.event({ event: 'routed', buildId, percentage: 0 });
  output.print('the ramp has ended');
}

async function changeRouting(rollout: Rollout, to: string, { ramp, replay }: RolloutOptions): Promise<void> {
  const { temporal, routing, output } = rollout;
  await requireWorker(temporal, 0, to);
  if (replay) await requireReplay(rollout, to);
  await routeTo(temporal, routing, to, ramp);
  output.event({ event: 'routed', buildId: to, percentage: ramp ?? 100 });
  output.print(ramp === undefined ? `${to} is current` : `${to} takes ${ramp} %`);
}

/** Targets and promotions move to the version with their next task. One that does not replay would be stuck. */
async function requireReplay({ temporal, own, output }: Rollout, to: string): Promise<void> {
  requireBundle(own, to, 'or skip the replay with --no-replay');
  const running = await runningUnpinned(temporal);
  output.progress(`Replaying ${counted(running.length, 'running workflow')} on ${to}`);
  logOnStderr('ERROR');
  const failures = await replayFailures(temporal, running, BUNDLE_PATH);
  const [first] = failures;
  if (first === undefined) return;
  throw new SlipwayError(
    'SLIPWAY_REPLAY_FAILED',
    `${counted(failures.length, 'running workflow')} would be stuck on ${to}: ${first.reason}`,
    { place: failures.map(({ workflowId }) => workflowId).join(', '), hint: 'nothing was changed' },
  );
}

/** Moves each workflow that replays on the version; the others stay on theirs. */
async function move({ temporal, routing, own, output }: Rollout, named: string, to: string): Promise<number> {
  requireBundle(own, to);
  await requireWorker(temporal, 0, to);
  const pinned = await runningPinned(temporal);
  // A person may have pinned a workflow to a version that no worker ever had.
  const from = pinned.find(({ buildId }) => buildId === named)?.buildId ?? find(routing, named);
  const stranded = pinned.filter(({ buildId }) => buildId === from);
  logOnStderr('ERROR');
  const failures = await replayFailures(temporal, stranded, BUNDLE_PATH);
  for (const work of stranded) {
    const failure = failures.find(({ workflowId }) => workflowId === work.workflowId);
    const { taskQueue: name } = temporal.settings;
    const moved = failure === undefined;
    if (moved) await moveTo(temporal, work, { deploymentName: name, buildId: to });
    const { workflowId } = work;
    output.event({ event: 'moved', workflowId, from, to, moved, reason: failure?.reason ?? null });
    output.print(
      moved
        ? `${workflowId} continues on ${to}`
        : `${workflowId} stays on ${from}, because it does not replay on ${to}: ${failure.reason}`,
    );
  }
  if (stranded.length === 0) output.print(`nothing is pinned to ${from}`);
  return failures.length === 0 ? 0 : 3;
}

/** A replay needs the version's workflow bundle, which only that version's installation has. */
function requireBundle(own: string, to: string, otherwise?: string): void {
  if (own === to) return;
  const run = 'run the command from the installation of that version';
  throw new SlipwayError('SLIPWAY_USAGE', `this installation is version ${own}, and cannot replay on ${to}`, {
    place: to,
    hint: otherwise === undefined ? run : `${run}, ${otherwise}`,
  });
}

async function show({ temporal, own, output }: Rollout): Promise<void> {
  const routing = await requireRouting(temporal);
  const pinned = await runningPinned(temporal);
  for (const version of routing.versions) {
    const releases = pinned
      .filter(({ buildId, byHand }) => buildId === version.buildId && !byHand)
      .map(({ workflowId }) => workflowId);
    const { buildId, status } = version;
    const percentage = routing.ramping?.buildId === buildId ? routing.ramping.percentage : null;
    const seen = { buildId, status, percentage, releases, own: buildId === own };
    output.event({ event: 'worker_version', ...seen });
    output.print(versionLine(seen));
  }
  for (const step of nextSteps(routing, own)) output.print(step);
  for (const from of new Set(pinned.map(({ buildId }) => buildId))) {
    if ((await pollingWorkers(temporal, from)).length > 0) continue;
    const { length } = pinned.filter(({ buildId }) => buildId === from);
    const what = `${counted(length, 'running workflow')} pinned to ${from}, which has no worker`;
    output.print(`Move ${what}: slipway worker rollout --move-from ${from}`);
  }
}

async function requireRouting(temporal: TemporalConnection): Promise<DescribedRouting> {
  const routing = await describeRouting(temporal);
  if (routing !== undefined) return routing;
  throw new SlipwayError('SLIPWAY_VERSION_UNKNOWN', 'no versioned worker has polled this task queue', {
    place: `task queue "${temporal.settings.taskQueue}"`,
    hint: 'start one: SLIPWAY_WORKER_VERSIONING=1 slipway worker',
  });
}

function requirePrevious(routing: Routing): string {
  const previous = previousVersion(routing);
  if (previous !== undefined) return previous;
  const hint = 'list the versions: slipway worker rollout';
  throw new SlipwayError('SLIPWAY_VERSION_UNKNOWN', 'no other version has been current', { hint });
}

function find(routing: Routing, wanted: string): string {
  const [found, ...others] = versionsStartingWith(routing, wanted);
  if (found !== undefined && others.length === 0) return found;
  const known = routing.versions.map(({ buildId }) => buildId).join(', ');
  const what =
    found === undefined ? `no worker has the version ${wanted}` : `several versions start with ${wanted}`;
  const hint = `versions that workers have had: ${known}`;
  throw new SlipwayError('SLIPWAY_VERSION_UNKNOWN', what, { place: wanted, hint });
}

const MEANINGS: Readonly<Record<VersionStatus, string>> = {
  inactive: 'takes no work yet',
  current: 'takes new work',
  ramping: 'takes a share of new work',
  draining: 'takes no new work: keep its workers',
  drained: 'takes no work: its workers can be stopped',
};

function versionLine(seen: Omit<EventOf<'worker_version'>, 'event'>): string {
  const { buildId, status, percentage, releases, own } = seen;
  const share = percentage === null ? '' : ` (${percentage} %)`;
  // Temporal updates the drainage status only every few minutes.
  const meaning = status === 'draining' && releases.length === 0 ? 'no release runs on it' : MEANINGS[status];
  const pinned = releases.length === 0 ? '' : `; ${counted(releases.length, 'running release')}`;
  return `${buildId}  ${status}${share}: ${meaning}${pinned}${own ? '; this installation' : ''}`;
}

/** The next commands of a rollout. @param own - the version of this installation. */
export function nextSteps(routing: Routing, own: string): readonly string[] {
  const { current, ramping, versions } = routing;
  const previous = previousVersion(routing);
  // Only a version's own installation can replay on it.
  const back =
    previous === undefined
      ? []
      : [`Go back to ${previous}, from its installation: slipway worker rollout --back`];
  if (ramping !== undefined) {
    const from = ramping.buildId === own ? '' : ', from its installation';
    return [
      `Finish the ramp${from}: slipway worker rollout ${ramping.buildId} --current`,
      `End it: slipway worker rollout --back`,
    ];
  }
  if (own === current || !versions.some(({ buildId }) => buildId === own)) return back;
  return [
    `Try ${own} on a share: slipway worker rollout --ramp 10`,
    `Or at once: slipway worker rollout --current`,
  ];
}
