import { loadConfig, type LoadedConfig } from '../../../config/loadConfig.ts';
import { formatDuration } from '../../../domain/duration.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { previewWorkflowId } from '../../../domain/preview/preview.ts';
import type { TemporalConnection } from '../../../temporal/client/connection.ts';
import {
  awaitRemoval,
  type ListedPreview,
  listPreviews,
  removePreview,
  withStuckTasks,
} from '../../../temporal/client/preview/previewClient.ts';
import type { CommandContext } from '../../context.ts';
import { GAVE_UP, tellGaveUp } from '../../follow/followToEnd.ts';
import { interruptible } from '../../interruption.ts';
import { withTemporal } from '../../openTemporal.ts';
import { readRequester } from '../../provenance.ts';
import type { Style } from '../../ui/style.ts';
import { type Cell, tableLines } from '../../ui/text.ts';
import { artifactStoreOf } from '../artifact/artifactOf.ts';
import { printProblems } from '../lint/problemLines.ts';
import { chooseTargetSpec } from '../target/targetAccess.ts';
import { choosePullRequest, type PullRequestOptions, releasePreview } from './releasePreview.ts';

interface PreviewOptions extends Omit<PullRequestOptions, 'pr'> {
  readonly config?: string;
  readonly pr?: number;
}

/** `slipway preview [up|down|list]`: releases a pull request separately, removes it, or lists the previews. */
export async function runPreviewCommand(
  context: CommandContext,
  what: 'up' | 'down' | 'list',
  options: PreviewOptions,
): Promise<number> {
  if (what === 'list') return listPreviewsOf(context);
  const { pr } = options;
  if (pr === undefined) {
    const hint = `slipway preview ${what} --pr 123`;
    throw new SlipwayError('SLIPWAY_USAGE', 'the number of the pull request is missing', { hint });
  }
  const file = await loadConfig(options.config);
  printProblems(context.output, file.warnings, 'note');
  const run = what === 'up' ? releasePreview : takeDown;
  return interruptible(
    (signal) => withTemporal(context, (temporal) => run(context, temporal, file, { ...options, pr }, signal)),
    context.output,
  );
}

/**
 * `slipway preview down --pr N`: signals the preview to remove itself, and waits for the removal.
 * @returns the exit code: 0 if it was removed, or did not exist.
 */
async function takeDown(
  context: CommandContext,
  temporal: TemporalConnection,
  loaded: LoadedConfig,
  { pr, name, reason, wait, timeout }: PullRequestOptions,
  signal: AbortSignal,
): Promise<number> {
  const { output } = context;
  const { terms, deployment, file } = await choosePullRequest(context, loaded, { pr, name });
  const { spec: target } = await chooseTargetSpec(context, file.config, deployment);
  const by = await readRequester(context, loaded.folder, reason);
  const recordStore = artifactStoreOf(loaded, context).url;
  await removePreview(temporal, { ...terms, target, recordStore }, by);
  const workflowId = previewWorkflowId(target);
  output.event({ event: 'preview_removal', name: terms.name, pr, deployment, workflowId });
  const asked = `The preview of #${pr} (${deployment}) removes itself`;
  if (!wait) {
    output.print(asked);
    return 0;
  }
  output.info(asked);
  const result = await awaitRemoval(temporal, workflowId, timeout, signal);
  if (result === undefined) {
    const why = signal.aborted ? 'stopped' : 'timeout';
    tellGaveUp(output, why, 'slipway preview list', 'the removal continues');
    return GAVE_UP;
  }
  output.event({ event: 'preview_removed', ...result, exitCode: 0 });
  const isParked = result.removed === 'parked';
  output.print(isParked ? output.style.warn(result.reason) : result.reason);
  return 0;
}

const HEADINGS = ['PULL REQUEST', 'PREVIEW', 'DEPLOYMENT', 'STATE', 'AGE', 'EXPIRES IN', 'ADDRESS'];

async function listPreviewsOf(context: CommandContext): Promise<number> {
  const { output } = context;
  const previews = await withTemporal(context, async (temporal) =>
    withStuckTasks(temporal, await listPreviews(temporal)),
  );
  for (const preview of previews) output.event({ event: 'listed_preview', ...preview });
  if (previews.length === 0) output.print('There are no previews');
  else
    for (const line of previewLines(previews, output.style, output.columns(), Date.now())) output.print(line);
  return 0;
}

export function previewLines(
  previews: readonly ListedPreview[],
  style: Style,
  columns: number,
  now: number,
): readonly string[] {
  const rows = previews.map(
    ({ pr, name, deployment, phase, createdAt, expiresAt, agentUrl, outcome }): Cell[] => [
      `#${pr}`,
      name,
      deployment,
      phase === 'removal_failed'
        ? { text: stateText(phase, outcome), paint: style.bad }
        : stateText(phase, outcome),
      sinceText(now - Date.parse(createdAt)),
      sinceText(Date.parse(expiresAt) - now),
      agentUrl ?? '',
    ],
  );
  return [
    ...tableLines(HEADINGS, rows, columns, style),
    ...previews.flatMap(({ pr, problem }) => (problem === null ? [] : [style.warn(`#${pr}: ${problem}`)])),
  ];
}

function stateText(phase: ListedPreview['phase'], outcome: ListedPreview['outcome']): string {
  const text = phase === 'idle' ? (outcome ?? 'idle') : phase;
  return text.replaceAll('_', ' ');
}

function sinceText(ms: number): string {
  return formatDuration(Math.max(Math.round(ms / 1_000) * 1_000, 0));
}
