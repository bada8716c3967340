import type { LoadedConfig } from '../../../config/loadConfig.ts';
import { previewWorkflowId } from '../../../domain/preview/preview.ts';
import type { TemporalConnection } from '../../../temporal/client/connection.ts';
import { awaitRemoval, removePreview } from '../../../temporal/client/preview/previewClient.ts';
import type { CommandContext } from '../../context.ts';
import { GAVE_UP, tellGaveUp } from '../../follow/followToEnd.ts';
import { gitIn, readRequester } from '../../provenance.ts';
import { artifactStoreOf } from '../artifact/artifactOf.ts';
import { chooseTargetSpec } from '../target/targetAccess.ts';
import { choosePullRequest, type PullRequestOptions } from './previewTarget.ts';

/**
 * `slipway preview down --pr N`: signals the preview to remove itself, and waits for the removal.
 * @returns the exit code: 0 if it was removed, or did not exist.
 */
export async function takeDown(
  context: CommandContext,
  temporal: TemporalConnection,
  loaded: LoadedConfig,
  { pr, name, reason, wait, timeout }: PullRequestOptions,
  signal: AbortSignal,
): Promise<number> {
  const { output, environment } = context;
  const { terms, deployment, file } = await choosePullRequest(context, loaded, {
    pr,
    name,
  });
  const { spec: target } = await chooseTargetSpec(context, file.config, deployment);
  const by = await readRequester(environment, gitIn(loaded.folder), reason);
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
    tellGaveUp(
      output,
      signal.aborted ? 'stopped' : 'timeout',
      'slipway preview list',
      'the removal continues',
    );
    return GAVE_UP;
  }
  output.event({ event: 'preview_removed', ...result, exitCode: 0 });
  const isParked = result.removed === 'parked';
  output.print(isParked ? output.style.warn(result.reason) : result.reason);
  return 0;
}
