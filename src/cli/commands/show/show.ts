import type { ArtifactStore } from '../../../artifact/artifactStore.ts';
import { loadConfig } from '../../../config/loadConfig.ts';
import { waitingCost } from '../../../domain/cost/waitingCost.ts';
import { pageLink, releaseAddress } from '../../../domain/dashboard/addresses.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { PastRelease } from '../../../domain/release/pastRelease.ts';
import { newestBuildLines } from '../../../inspection/deployment/revisionLog.ts';
import {
  findRelease,
  type FoundRelease,
  LATEST,
  recordedReleases,
  wholeAnswers,
} from '../../../inspection/release/findRelease.ts';
import { releaseDifference } from '../../../inspection/release/releaseDifference.ts';
import type { TemporalConnection } from '../../../temporal/client/connection.ts';
import { readGuard } from '../../../temporal/client/guard/guardClient.ts';
import { pastReleases } from '../../../temporal/client/release/pastReleases.ts';
import {
  ACTIONS_OF_TARGET,
  type BilledActions,
  billedActions,
  type HistoryCost,
} from '../../../temporal/history/billedActions.ts';
import { fetchHistory } from '../../../temporal/history/fetchHistories.ts';
import type { CommandContext, FileOptions } from '../../context.ts';
import type { EventOf } from '../../events/index.ts';
import { withTemporal } from '../../openTemporal.ts';
import { artifactStoreOf } from '../artifact/artifactOf.ts';
import { printFailedRevision } from '../logs/printRevisionLog.ts';
import { chooseTargetSpec } from '../target/targetAccess.ts';
import { differenceLines } from './difference.ts';
import { releaseLines, type ReleaseShown } from './releaseLines.ts';

/**
 * `slipway show [RELEASE] [TARGET]`: prints everything known about a release or a rollback. `--diff A B`: prints how
 * two of them differ; `--diff B`: how it differs from the release before it. Works without a worker.
 */
export async function runShowCommand(
  context: CommandContext,
  words: readonly string[],
  options: FileOptions & { readonly diff?: boolean; readonly cost?: boolean },
): Promise<number> {
  const { output } = context;
  const { config, folder } = await loadConfig(options.config);
  const { releases, target: named } = readWords(words, options.diff ?? false, Object.keys(config.targets));
  const target = await chooseTargetSpec(context, config, named);
  const store = artifactStoreOf({ config, folder }, context);
  return withTemporal(context, async (temporal) => {
    const found: FoundRelease[] = [];
    for (const wanted of releases) found.push(await findRelease(temporal, store, target, wanted));
    if (options.diff === true && releases.length === 1) {
      found.unshift(await releaseBefore(temporal, store, target, found));
    }
    const [one, other] = found;
    if (one === undefined) return 0;
    if (other === undefined) {
      const { progress } = one;
      const buildLog = progress === null ? [] : await newestBuildLines(context, target.spec, progress);
      const { dashboard } = temporal.settings;
      const dashboardUrl = pageLink(dashboard, releaseAddress(target.workflowId, one.past.releaseId));
      const isGuarded = one.request !== null && 'artifact' in one.request && one.request.guard !== undefined;
      const guard = isGuarded ? await readGuard(temporal, target.workflowId, one.past.releaseId) : undefined;
      const shown = { ...one, buildLog, dashboardUrl, guard: guard ?? null };
      output.event(releaseEvent(shown));
      if (one.result !== null) await printFailedRevision(context, target, one.result);
      const answers = await wholeAnswers(store, (one.result ?? one.progress)?.verdicts ?? []);
      const lines = releaseLines(shown, Date.now(), output.style, answers, output.columns());
      for (const line of lines) output.print(line);
      if (options.cost === true) await printCost(context, temporal, target, one.past);
      return 0;
    }
    const difference = await releaseDifference(store, one, other);
    const { configuration, files, rows } = difference;
    output.event({
      event: 'difference',
      target: target.name,
      from: one.past,
      to: other.past,
      configuration: typeof configuration === 'string' ? null : configuration,
      files: typeof files === 'string' ? null : files,
      rows,
      unknown: [configuration, files].filter((part) => typeof part === 'string'),
    });
    for (const line of differenceLines(difference, output.style)) output.print(line);
    return 0;
  });
}

function readWords(
  words: readonly string[],
  isDiff: boolean,
  targets: readonly string[],
): { readonly releases: readonly string[]; readonly target: string | undefined } {
  const [, second] = words;
  const isAlone = words.length < 2 || (words.length === 2 && targets.includes(second ?? ''));
  const count = isDiff && !isAlone ? 2 : 1;
  if (words.length > count + 1) {
    throw new SlipwayError('SLIPWAY_USAGE', `too many words: ${words.slice(count + 1).join(' ')}`);
  }
  const releases = words.slice(0, count);
  return { releases: releases.length === 0 ? [LATEST] : releases, target: words[count] };
}

async function releaseBefore(
  temporal: TemporalConnection,
  store: ArtifactStore,
  target: { readonly name: string; readonly workflowId: string },
  [found]: readonly FoundRelease[],
): Promise<FoundRelease> {
  const past = await pastReleases(temporal, target.workflowId);
  const releases = past?.releases ?? (await recordedReleases(store, target, Infinity));
  const index = releases.findIndex(({ releaseId }) => releaseId === found?.past.releaseId);
  const earlier = index === -1 ? [] : releases.slice(index + 1);
  const before = earlier.find(
    ({ kind, outcome }) => kind === 'release' && outcome !== 'superseded' && outcome !== 'rejected',
  );
  if (before !== undefined) return findRelease(temporal, store, target, before.releaseId);
  throw new SlipwayError('SLIPWAY_RELEASE_UNKNOWN', `no release before it is known on "${target.name}"`, {
    hint: 'name both: slipway show --diff release-1 release-2',
  });
}

function releaseEvent(shown: ReleaseShown): EventOf<'release'> {
  const { target, past, result, progress, call, buildLog, workflowUrl, dashboardUrl, guard, from } = shown;
  const where = { workflowUrl, dashboardUrl, from };
  return { event: 'release', target, ...past, ...where, progress, call, buildLog, result, guard };
}

/** As `slipway.yaml` has it where a promotion sets none. */
const CHECK_EVERY_MS = 5 * 60_000;

const KINDS: Readonly<Record<keyof BilledActions, readonly [one: string, several: string]>> = {
  starts: ['start', 'starts'],
  children: ['start of a child', 'starts of children'],
  attempts: ['attempt at an activity', 'attempts at activities'],
  localActivities: ['task with local activities', 'tasks with local activities'],
  timers: ['timer', 'timers'],
  signals: ['signal', 'signals'],
  updates: ['update', 'updates'],
  searchAttributes: ['change of search attributes', 'changes of search attributes'],
  options: ['change of its options', 'changes of its options'],
};

/** Prints what Temporal Cloud bills for a release, counted in its history, and what waiting costs. */
async function printCost(
  { output }: CommandContext,
  temporal: TemporalConnection,
  target: { readonly name: string; readonly workflowId: string },
  { releaseId, kind }: Pick<PastRelease, 'releaseId' | 'kind'>,
): Promise<void> {
  const workflowId = `${target.workflowId}/${releaseId}`;
  const history = await fetchHistory(temporal, workflowId);
  const cost: EventOf<'cost'> = {
    event: 'cost',
    target: target.name,
    releaseId,
    history: history === undefined ? null : billedActions(history.events ?? []),
    ofTarget: ACTIONS_OF_TARGET[kind],
    waiting: waitingCost(CHECK_EVERY_MS),
  };
  output.event(cost);
  for (const line of costLines(cost)) output.print(line);
}

export function costLines({
  history,
  ofTarget,
  waiting,
}: Pick<EventOf<'cost'>, 'history' | 'ofTarget' | 'waiting'>): readonly string[] {
  return [
    '  billed actions in Temporal Cloud',
    ...(history === null
      ? ['    not known: Temporal no longer has the history of this release']
      : historyLines(history, ofTarget)),
    `    an hour of waiting for a revision: ${waiting.parkedHour}, and ${waiting.pollerHour} for its poller, which others share`,
    `    a day of soak with checks every 5 minutes: ${waiting.soakedDay}`,
  ];
}

function historyLines(
  { actions, total, heartbeatsAtMost }: HistoryCost,
  ofTarget: number,
): readonly string[] {
  const kinds = (Object.keys(KINDS) as (keyof BilledActions)[]).filter((kind) => actions[kind] > 0);
  const parts = kinds.map((kind) => `${actions[kind]} ${KINDS[kind][actions[kind] === 1 ? 0 : 1]}`);
  const heartbeats = heartbeatsAtMost === 0 ? '' : `, and at most ${heartbeatsAtMost} for heartbeats`;
  return [
    `    this release: ${total + ofTarget}${heartbeats}`,
    `      its history ${total}: ${parts.join(', ')}`,
    `      its target ${ofTarget}: the request, the start, what it reads and writes`,
  ];
}
