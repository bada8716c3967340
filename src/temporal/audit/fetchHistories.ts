import { SlipwayError } from '../../domain/errors.ts';
import type { TemporalConnection } from '../connection.ts';
import { isGone, temporalError } from '../temporalError.ts';
import type { AuditedHistory } from './readFacts.ts';

/**
 * Fetches every history of a target that Temporal still has: those of its runs, newest first, and of their children.
 *
 * @param workflowId - the target's.
 * @throws SlipwayError SLIPWAY_TARGET_NEVER_RELEASED, SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function fetchHistories(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<readonly AuditedHistory[]> {
  try {
    const own: AuditedHistory[] = [];
    for (let runId: string | undefined; ;) {
      const history = await fetchHistory(temporal, workflowId, runId);
      if (history === undefined) break;
      own.push({ workflowId, history });
      const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
      runId = started?.continuedExecutionRunId ?? '';
      if (runId === '') break;
    }
    if (own.length === 0) {
      throw new SlipwayError('SLIPWAY_TARGET_NEVER_RELEASED', 'this target has never taken a release', {
        place: workflowId,
      });
    }
    const children: AuditedHistory[] = [];
    for (const event of own.flatMap(({ history }) => history.events ?? [])) {
      const child = event.childWorkflowExecutionStartedEventAttributes?.workflowExecution;
      if (child?.workflowId == null) continue;
      const history = await fetchHistory(temporal, child.workflowId, child.runId ?? undefined);
      if (history !== undefined) children.push({ workflowId: child.workflowId, history });
    }
    return [...own, ...children];
  } catch (error) {
    if (error instanceof SlipwayError) throw error;
    throw temporalError(error, temporal.settings);
  }
}

/**
 * One history; `undefined` where Temporal has none, or keeps it no longer.
 *
 * @param runId - which run. Default: the newest.
 */
export async function fetchHistory(
  { client }: TemporalConnection,
  workflowId: string,
  runId?: string,
): Promise<AuditedHistory['history'] | undefined> {
  try {
    return await client.workflow.getHandle(workflowId, runId).fetchHistory();
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}
