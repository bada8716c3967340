import { randomUUID } from 'node:crypto';

import { WithStartWorkflowOperation, WorkflowUpdateStage } from '@temporalio/client';

import type { Actor } from '../../../domain/actor.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type {
  PreviewAnswer,
  PreviewResult,
  PreviewSpec,
  PreviewState,
  PreviewSummary,
  PreviewTerms,
} from '../../../domain/preview/preview.ts';
import { previewWorkflowId } from '../../../domain/preview/previewName.ts';
import type { ReleaseRequest } from '../../../domain/release/release.ts';
import { isRecord } from '../../../domain/scalars.ts';
import { targetWorkflowId } from '../../../domain/target/targetSpec.ts';
import {
  previewQuery,
  previewStart,
  pushPreviewUpdate,
  removePreviewSignal,
} from '../../../messages/preview.ts';
import { type PreviewWorkflow, WORKFLOW_TYPES } from '../../../messages/workflowTypes.ts';
import { currentTrace } from '../../../traces/trace.ts';
import { ASK_TIMEOUT_MS, refusal } from '../ask.ts';
import {
  TEMPORAL_ANSWERS_WITHIN_MS,
  type TemporalConnection,
  callTemporal,
  callOrNone,
  describeWorkflow,
} from '../connection.ts';
import { listRunning } from '../listRunning.ts';
import { findStuckTask, remedyOf, stuckText } from '../stuckTask.ts';
import {
  isGone,
  isTemporalSilent,
  isUntaken,
  isWorkerSilent,
  temporalError,
  unansweredRequest,
} from '../temporalError.ts';
import { noWorker, requireEachVersion, requireWorkerOf } from '../workerPresence.ts';

export interface ListedPreview extends PreviewSummary {
  readonly workflowId: string;
}

/** How long a worker may take to queue a push, in milliseconds: a removal may have to end first. */
const PUSH_TIMEOUT_MS = 180_000;

/**
 * Sends a push to its preview, and starts the preview if it is new, with one Update-with-Start. After the preview accepts it,
 * the release, the deadline and the removal need no CI.
 * @param signal - ends the wait for its acceptance. The push may still be accepted.
 * @throws SlipwayError SLIPWAY_NO_WORKER, SLIPWAY_TEMPORAL_UNREACHABLE, SLIPWAY_USAGE if the preview rejects the push.
 */
export async function pushPreview(
  temporal: TemporalConnection,
  terms: PreviewTerms,
  asked: ReleaseRequest,
  signal: AbortSignal,
): Promise<PreviewAnswer> {
  const { client, settings } = temporal;
  const { target, recordStore } = asked;
  const spec: PreviewSpec = { ...terms, target, recordStore };
  await requireEachVersion(temporal);
  // People may have pinned one by hand.
  for (const workflowId of [previewWorkflowId(target), targetWorkflowId(target)])
    await requireWorkerOf(temporal, workflowId);
  const from = Date.now();
  try {
    const push = async (): Promise<PreviewAnswer> => {
      const update = await client.workflow.startUpdateWithStart(pushPreviewUpdate, {
        startWorkflowOperation: new WithStartWorkflowOperation<PreviewWorkflow>(
          WORKFLOW_TYPES.preview,
          previewStart(spec, settings.taskQueue),
        ),
        waitForStage: WorkflowUpdateStage.ACCEPTED,
        updateId: randomUUID(),
        args: [{ terms, request: { ...asked, trace: currentTrace() } }],
      });
      return update.result();
    };
    return await client.withAbortSignal(signal, () => client.withDeadline(from + PUSH_TIMEOUT_MS, push));
  } catch (error) {
    if (isUntaken(error)) {
      const waitedS = Math.round((Date.now() - from) / 1_000);
      throw noWorker(settings, `the push was not queued within ${waitedS} s, and may still be`, error);
    }
    throw refusal(error) ?? unansweredRequest(error, settings, 'the push may still be released');
  }
}

/**
 * Signals a preview to remove itself. Temporal keeps the signal until a worker runs. If the preview has no workflow any more,
 * starts one, which removes the deployment.
 */
export async function removePreview(
  { client, settings }: TemporalConnection,
  spec: PreviewSpec,
  by: Actor,
): Promise<void> {
  try {
    await client.withDeadline(Date.now() + TEMPORAL_ANSWERS_WITHIN_MS, () =>
      client.workflow.signalWithStart(WORKFLOW_TYPES.preview, {
        ...previewStart(spec, settings.taskQueue),
        signal: removePreviewSignal,
        signalArgs: [by],
      }),
    );
  } catch (error) {
    throw unansweredRequest(error, settings, 'the preview may still be removed');
  }
}

/**
 * Waits until a preview is removed.
 * @returns the result; `undefined`: the removal has not ended.
 * @throws SlipwayError SLIPWAY_WRONG_MOMENT if a push during the removal made the preview stay, or created it again.
 */
export async function awaitRemoval(
  temporal: TemporalConnection,
  workflowId: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<PreviewResult | undefined> {
  const { client, settings } = temporal;
  const until = Date.now() + timeoutMs;
  for (let looks = 0; Date.now() < until && !signal.aborted; looks++) {
    if (looks > 0 && (await viewPreview(temporal, workflowId))?.removal === null) {
      const why = 'a push arrived during the removal, so the preview stays or was created again';
      const hint = 'see it: slipway preview list; to remove it, run the command again';
      throw new SlipwayError('SLIPWAY_WRONG_MOMENT', why, { hint });
    }
    try {
      const waitMs = Math.min(until - Date.now(), LONGEST_POLL_MS);
      // Not a deadline: Temporal answers a second before it, and the SDK would repeat the call at once, hundreds of times.
      return await client.withAbortSignal(AbortSignal.any([signal, AbortSignal.timeout(waitMs)]), () =>
        client.workflow.getHandle<PreviewWorkflow>(workflowId).result(),
      );
    } catch (error) {
      if (!isTemporalSilent(error)) throw temporalError(error, settings);
    }
  }
  return undefined;
}

/** The timeout of one call. The wait repeats calls, so it survives a restart of Temporal. */
const LONGEST_POLL_MS = 10_000;

export function viewPreview(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<PreviewState | undefined> {
  return callOrNone(
    temporal,
    (error) => isWorkerSilent(error) || isTemporalSilent(error) || isGone(error),
    () => temporal.client.workflow.getHandle(workflowId).query(previewQuery),
    ASK_TIMEOUT_MS,
  );
}

/**
 * Lists the running previews of the namespace, sorted by deadline. Temporal's list is up to a few seconds late. Needs no worker.
 */
export async function listPreviews(temporal: TemporalConnection): Promise<readonly ListedPreview[]> {
  const previews = await listRunning(temporal, WORKFLOW_TYPES.preview, ({ workflowId, memo }) => {
    const summary = memo?.['preview'];
    // A preview without a memo has just started.
    return isRecord(summary) ? { ...(summary as unknown as PreviewSummary), workflowId } : undefined;
  });
  return previews.sort((one, other) => one.expiresAt.localeCompare(other.expiresAt));
}

/** Adds to previews what is stuck: a preview's own workflow, or its target's, without which it cannot be removed. */
export async function withStuckTasks(
  temporal: TemporalConnection,
  previews: readonly ListedPreview[],
): Promise<readonly ListedPreview[]> {
  const withStuckTask = async (preview: ListedPreview): Promise<ListedPreview> => {
    const { workflowId } = preview;
    const stuck =
      (await findStuckTask(temporal, workflowId)) ?? (await findStuckTask(temporal, `target:${workflowId}`));
    if (stuck === undefined) return preview;
    const problem = `workers cannot continue ${stuck.workflowId}: ${stuckText(stuck)}; ${remedyOf(stuck)}`;
    return { ...preview, problem };
  };
  return callTemporal(temporal, () => Promise.all(previews.map(withStuckTask)));
}

export async function isHeld(temporal: TemporalConnection, target: PreviewSpec['target']): Promise<boolean> {
  const found = await describeWorkflow(temporal, previewWorkflowId(target));
  return found?.status.name === 'RUNNING';
}
