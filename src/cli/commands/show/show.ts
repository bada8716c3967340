import { loadConfig } from '../../../config/loadConfig.ts';
import { pageLink, releaseAddress } from '../../../domain/dashboard/addresses.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { targetWorkflowId } from '../../../domain/target/targetSpec.ts';
import { newestBuildLines } from '../../../inspection/deployment/newestBuildLines.ts';
import { findRelease, type FoundRelease, LATEST } from '../../../inspection/release/findRelease.ts';
import { releaseDifference } from '../../../inspection/release/releaseDifference.ts';
import { wholeAnswers } from '../../../inspection/release/wholeAnswers.ts';
import type { CommandContext } from '../../context.ts';
import type { EventOf } from '../../events/index.ts';
import { withTemporal } from '../../openTemporal.ts';
import { artifactStoreOf } from '../artifact/artifactOf.ts';
import { printFailedRevision } from '../logs/printRevisionLog.ts';
import { chooseTargetSpec } from '../target/targetAccess.ts';
import { printCost } from './cost.ts';
import { differenceLines } from './difference.ts';
import { releaseLines, type ReleaseShown } from './releaseLines.ts';

/** The options of `slipway show [RELEASE] [TARGET]` and `slipway show --diff A B [TARGET]`. */
interface ShowOptions {
  readonly config?: string;
  /** Show how two releases differ. */
  readonly diff?: boolean;
  /** Count what Temporal Cloud bills for it. */
  readonly cost?: boolean;
}

/**
 * `slipway show [RELEASE] [TARGET]`: prints everything known about a release or a rollback. `--diff A B`: prints how
 * two of them differ. Works without a worker.
 *
 * @returns the exit code.
 * @throws SlipwayError SLIPWAY_RELEASE_UNKNOWN, SLIPWAY_TEMPORAL_UNREACHABLE, SLIPWAY_USAGE.
 */
export async function runShowCommand(
  context: CommandContext,
  words: readonly string[],
  options: ShowOptions,
): Promise<number> {
  const { output } = context;
  const { releases, target: named } = readWords(words, options.diff ?? false);
  const { config, folder } = await loadConfig(options.config);
  const chosen = await chooseTargetSpec(context, config, named);
  const store = artifactStoreOf({ config, folder }, context);
  return withTemporal(context, async (temporal) => {
    const target = { name: chosen.name, workflowId: targetWorkflowId(chosen.spec) };
    const found: FoundRelease[] = [];
    for (const wanted of releases) found.push(await findRelease(temporal, store, target, wanted));
    const [one, other] = found;
    if (one === undefined) return 0;
    if (other === undefined) {
      const { progress } = one;
      const buildLog = progress === null ? [] : await newestBuildLines(context, chosen.spec, progress);
      const { dashboard } = temporal.settings;
      const dashboardUrl = pageLink(dashboard, releaseAddress(target.workflowId, one.past.releaseId));
      const shown = { ...one, buildLog, dashboardUrl };
      output.event(releaseEvent(shown));
      if (one.result !== null) await printFailedRevision(context, chosen, one.result);
      const answers = await wholeAnswers(store, (one.result ?? one.progress)?.verdicts ?? []);
      const columns = output.live ? output.columns() : Infinity;
      const lines = releaseLines(shown, Date.now(), output.style, answers, columns);
      for (const line of lines) output.print(line);
      if (options.cost === true) await printCost(context, temporal, target, one.past.releaseId);
      return 0;
    }
    const difference = await releaseDifference(store, one, other);
    const { configuration, files } = difference;
    output.event({
      event: 'difference',
      target: chosen.name,
      from: one.past,
      to: other.past,
      configuration: typeof configuration === 'string' ? null : configuration,
      files: typeof files === 'string' ? null : files,
      unknown: [configuration, files].filter((part) => typeof part === 'string'),
    });
    for (const line of differenceLines(difference, output.style)) output.print(line);
    return 0;
  });
}

function readWords(
  words: readonly string[],
  isDiff: boolean,
): { readonly releases: readonly string[]; readonly target: string | undefined } {
  const count = isDiff ? 2 : 1;
  if (isDiff && words.length < count) {
    throw new SlipwayError('SLIPWAY_USAGE', '--diff needs two releases', {
      hint: 'slipway show --diff release-1 release-2',
    });
  }
  if (words.length > count + 1) {
    throw new SlipwayError('SLIPWAY_USAGE', `too many words: ${words.slice(count + 1).join(' ')}`);
  }
  const releases = words.slice(0, count);
  return { releases: releases.length === 0 ? [LATEST] : releases, target: words[count] };
}

function releaseEvent(shown: ReleaseShown): EventOf<'release'> {
  const { target, past, result, progress, call, buildLog, workflowUrl, dashboardUrl, from } = shown;
  const where = { workflowUrl, dashboardUrl, from };
  return { event: 'release', target, ...past, ...where, progress, call, buildLog, result };
}
