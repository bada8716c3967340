import { promotionOf } from '../../domain/promotion/promotion.ts';
import type { ReleaseRequest } from '../../domain/release/release.ts';
import { neverReleased } from '../client/ask.ts';
import { type TemporalConnection, callTemporal, callOrNone } from '../client/connection.ts';
import { isGone } from '../client/temporalError.ts';
import { decode, decodeEvents, timeOf } from './payloads.ts';
import { type AuditedHistory, readTargetFacts } from './readFacts.ts';

/**
 * Fetches the histories of a target that Temporal still has: those of its runs, newest first, and of their children.
 * This includes runs that a restart after a termination began.
 * @param newest - only this many of the newest releases and rollbacks, and the runs that started them. Default: every
 * child.
 */
export async function fetchHistories(
  temporal: TemporalConnection,
  workflowId: string,
  newest = Infinity,
): Promise<readonly AuditedHistory[]> {
  return callTemporal(temporal, async () => {
    const own: AuditedHistory[] = [];
    const started = new Map<string, Child>();
    for (const runId of await runsOf(temporal, workflowId)) {
      if (started.size >= newest) break;
      const history = await fetchHistory(temporal, workflowId, runId);
      if (history === undefined) continue;
      own.push({ workflowId, history });
      const children = childrenOf(history).reverse();
      const wanted = newest === Infinity ? children : children.filter((child) => isWork(child, workflowId));
      // A run after a reset contains the events of the run before it, and so its children.
      for (const child of wanted) started.set(child.runId ?? child.workflowId, child);
    }
    if (own.length === 0) throw neverReleased(workflowId);
    const children: AuditedHistory[] = [];
    for (const child of [...started.values()].slice(0, newest)) {
      const history = await fetchHistory(temporal, child.workflowId, child.runId);
      if (history !== undefined) children.push({ workflowId: child.workflowId, history });
    }
    return [...own, ...children];
  });
}

/** The runs of a workflow id, newest first. The newest is found even if Temporal's list is behind. */
async function runsOf({ client }: TemporalConnection, workflowId: string): Promise<string[]> {
  const runs = new Map<string, number>();
  for await (const { runId, startTime } of client.workflow.list({
    query: `WorkflowId = ${JSON.stringify(workflowId)}`,
  })) {
    runs.set(runId, startTime.getTime());
  }
  const newestFirst = [...runs].sort(([, one], [, other]) => other - one).map(([runId]) => runId);
  try {
    const { runId } = await client.workflow.getHandle(workflowId).describe();
    return [...new Set([runId, ...newestFirst])];
  } catch (error) {
    if (isGone(error)) return newestFirst;
    throw error;
  }
}

interface Child {
  readonly workflowId: string;
  readonly runId: string | undefined;
}

/** Whether a child is a release or a rollback. The others send notices. */
function isWork(child: Child, targetId: string): boolean {
  return child.workflowId.startsWith(`${targetId}/`);
}

function childrenOf({ events }: AuditedHistory['history']): Child[] {
  return (events ?? []).flatMap((event) => {
    const child = event.childWorkflowExecutionStartedEventAttributes?.workflowExecution;
    if (child?.workflowId == null) return [];
    return [{ workflowId: child.workflowId, runId: child.runId ?? undefined }];
  });
}

/** The runs of a target's releases and rollbacks that a reset in Temporal began: the target started others. */
async function fetchResets(
  temporal: TemporalConnection,
  targetId: string,
  histories: readonly AuditedHistory[],
): Promise<readonly AuditedHistory[]> {
  const started = histories
    .filter(({ workflowId }) => workflowId === targetId)
    .flatMap(({ history }) => childrenOf(history));
  const query = `WorkflowId STARTS_WITH ${JSON.stringify(`${targetId}/`)}`;
  const found: AuditedHistory[] = [];
  for await (const { workflowId, runId } of temporal.client.workflow.list({ query })) {
    const runs = started.filter((child) => child.workflowId === workflowId);
    if (runs.length === 0 || runs.some((child) => child.runId === runId)) continue;
    const history = await fetchHistory(temporal, workflowId, runId);
    if (history !== undefined) found.push({ workflowId, history, isReset: true });
  }
  return found;
}

/**
 * All histories for the safety rules: those of a target and of its children, and of the promotions that requested its
 * releases, if Temporal still has them.
 */
export async function fetchAudited(
  temporal: TemporalConnection,
  targetId: string,
): Promise<readonly AuditedHistory[]> {
  const histories = await fetchHistories(temporal, targetId);
  const promotions: AuditedHistory[] = [];
  for (const { kind, request } of readTargetFacts(targetId, histories).works) {
    const asker = kind === 'release' ? promotionOf(request as ReleaseRequest) : undefined;
    if (asker === undefined) continue;
    const { workflowId, runId } = asker;
    const history = await fetchHistory(temporal, workflowId, runId);
    if (history !== undefined) promotions.push({ workflowId, history });
  }
  const resets = await callTemporal(temporal, () => fetchResets(temporal, targetId, histories));
  return [...histories, ...resets, ...promotions];
}

/** One history, decrypted; `undefined` if Temporal has none (any longer). @param runId - default: the newest run. */
export function fetchHistory(
  temporal: TemporalConnection,
  workflowId: string,
  runId?: string,
): Promise<AuditedHistory['history'] | undefined> {
  const { client, settings } = temporal;
  return callOrNone(temporal, isGone, async () => {
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    if (settings.codec !== undefined) await decodeEvents(settings.codec, history.events ?? []);
    return history;
  });
}

/** The input of a workflow's newest run, its id, and when it started (ISO 8601); `undefined` if Temporal has none. */
export async function fetchFirstInput(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<{ readonly input: unknown; readonly runId: string; readonly at: string } | undefined> {
  const { namespace, codec } = temporal.settings;
  const asked = { namespace, execution: { workflowId }, maximumPageSize: 1 };
  const read = () => temporal.client.workflowService.getWorkflowExecutionHistory(asked);
  const [first] = (await callOrNone(temporal, isGone, read))?.history?.events ?? [];
  if (first === undefined) return undefined;
  if (codec !== undefined) await decodeEvents(codec, [first]);
  const { input, originalExecutionRunId: runId } = first.workflowExecutionStartedEventAttributes ?? {};
  return { input: decode(input), runId: runId ?? '', at: new Date(timeOf(first)).toISOString() };
}
