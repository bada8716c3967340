import type { ArtifactStore } from '../../../artifact/artifactStore.ts';
import { loadConfig } from '../../../config/loadConfig.ts';
import { pageLink, releaseAddress } from '../../../domain/dashboard/addresses.ts';
import { SlipwayError } from '../../../domain/errors.ts';
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
import type { CommandContext, FileOptions } from '../../context.ts';
import type { EventOf } from '../../events/index.ts';
import { withTemporal } from '../../openTemporal.ts';
import { printFailedRevision } from '../logs/printRevisionLog.ts';
import { type ChosenTarget, chooseTargetSpec } from '../target/targetAccess.ts';
import { printCost } from './cost.ts';
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
): Promise<void> {
  const file = await loadConfig(options.config);
  const isDiff = options.diff ?? false;
  const { release, other, target: named } = readWords(words, isDiff, Object.keys(file.config.targets));
  const target = await chooseTargetSpec(context, file, named);
  const store = target.openStore();
  return withTemporal(context, async (temporal) => {
    const found = await findRelease(temporal, store, target, release);
    if (!isDiff) {
      await showRelease(context, temporal, target, store, found);
      if (options.cost === true) await printCost(context, temporal, target, found.past);
      return;
    }
    const [from, to] =
      other === undefined
        ? [await releaseBefore(temporal, store, target, found), found]
        : [found, await findRelease(temporal, store, target, other)];
    await showDifference(context, target.name, store, from, to);
  });
}

async function showRelease(
  context: CommandContext,
  temporal: TemporalConnection,
  target: ChosenTarget,
  store: ArtifactStore,
  found: FoundRelease,
): Promise<void> {
  const { output } = context;
  const { past, request, result, progress } = found;
  const buildLog = progress === null ? [] : await newestBuildLines(context, target.spec, progress);
  const { dashboard } = temporal.settings;
  const dashboardUrl = pageLink(dashboard, releaseAddress(target.workflowId, past.releaseId));
  const isGuarded = request !== null && 'artifact' in request && request.guard !== undefined;
  const guard = isGuarded ? await readGuard(temporal, target.workflowId, past.releaseId) : undefined;
  const shown = { ...found, buildLog, dashboardUrl, guard: guard ?? null };
  output.event(releaseEvent(shown));
  if (result !== null) await printFailedRevision(context, target, result);
  const answers = await wholeAnswers(store, (result ?? progress)?.verdicts ?? []);
  const lines = releaseLines(shown, output.screen(), answers);
  for (const line of lines) output.print(line);
}

async function showDifference(
  { output }: CommandContext,
  target: string,
  store: ArtifactStore,
  from: FoundRelease,
  to: FoundRelease,
): Promise<void> {
  const difference = await releaseDifference(store, from, to);
  const { configuration, files, rows } = difference;
  output.event({
    event: 'difference',
    target,
    from: from.past,
    to: to.past,
    configuration: typeof configuration === 'string' ? null : configuration,
    files: typeof files === 'string' ? null : files,
    rows,
    unknown: [configuration, files].filter((part) => typeof part === 'string'),
  });
  for (const line of differenceLines(difference, output.style)) output.print(line);
}

/** The releases and the target that a person named. A target also counts if it comes first, or alone. */
export function readWords(
  words: readonly string[],
  isDiff: boolean,
  targets: readonly string[],
): { readonly release: string; readonly other: string | undefined; readonly target: string | undefined } {
  const [first = '', second] = words;
  if (!isDiff && words.length <= 2 && targets.includes(first) && !targets.includes(second ?? ''))
    return { release: second ?? LATEST, other: undefined, target: first };
  const isAlone = words.length < 2 || (words.length === 2 && targets.includes(second ?? ''));
  const count = isDiff && !isAlone ? 2 : 1;
  if (words.length > count + 1) {
    const hint = 'slipway show --help shows the order of the words';
    throw new SlipwayError('SLIPWAY_USAGE', `too many words: ${words.slice(count + 1).join(' ')}`, { hint });
  }
  const [release = LATEST, other] = words.slice(0, count);
  return { release, other, target: words[count] };
}

async function releaseBefore(
  temporal: TemporalConnection,
  store: ArtifactStore,
  target: { readonly name: string; readonly workflowId: string },
  { past: { releaseId: shown } }: FoundRelease,
): Promise<FoundRelease> {
  const past = await pastReleases(temporal, target.workflowId);
  const releases = past?.releases ?? (await recordedReleases(store, target, Infinity));
  const index = releases.findIndex(({ releaseId }) => releaseId === shown);
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
