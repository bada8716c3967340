import type { WorkFact } from '../../domain/audit/facts.ts';
import { hasCode } from '../../domain/errors.ts';
import { pastOfWork, type PastRelease } from '../../domain/release/pastRelease.ts';
import { isRecord } from '../../domain/scalars.ts';
import { type TemporalConnection, callOrNone } from '../client/connection.ts';
import { isGone } from '../client/temporalError.ts';
import { fetchHistories } from './fetchHistories.ts';
import { decode, timeOf } from './payloads.ts';
import { type AuditedHistory, readTargetFacts } from './readFacts.ts';

export interface KeptTarget {
  /** What runs, according to its history; `null` if nothing runs. */
  readonly running: WorkFact | null;
  /** The revision that served at the target's last change, as far as the target knew; `null` if it did not know. */
  readonly servingRevisionId: string | null;
  readonly ended: readonly PastRelease[];
  /** Signals to the target or to its running release that wait for a worker, oldest first. */
  readonly messages: readonly KeptMessage[];
}

const READ_TIMEOUT_MS = 15_000;

/**
 * Reads what Temporal keeps of a target: its memo and its histories. Only a worker knows its queue, hold and
 * quarantine, so they are missing.
 * @returns `undefined` if the target has never accepted a release.
 */
export async function readKeptTarget(
  temporal: TemporalConnection,
  workflowId: string,
  last: number,
): Promise<KeptTarget | undefined> {
  const read = async (): Promise<KeptTarget> => {
    const { memo } = await temporal.client.workflow.getHandle(workflowId).describe();
    // One more than requested, because the newest may still run.
    const histories = await fetchHistories(temporal, workflowId, last + 1);
    return { servingRevisionId: servesOf(memo), ...readKept(workflowId, histories, last) };
  };
  return callOrNone(temporal, hasNeverReleased, read, READ_TIMEOUT_MS);
}

function hasNeverReleased(error: unknown): boolean {
  return isGone(error) || hasCode(error, 'SLIPWAY_TARGET_NEVER_RELEASED');
}

function readKept(
  workflowId: string,
  histories: readonly AuditedHistory[],
  last: number,
): Omit<KeptTarget, 'servingRevisionId'> {
  const { works } = readTargetFacts(workflowId, histories);
  const running = works.findLast(({ ended }) => ended === 'running') ?? null;
  const listening = [workflowId, running?.workflowId];
  return {
    running,
    ended: works
      .filter(({ ended }) => ended !== 'running')
      .slice(-last)
      .map(pastOfWork),
    messages: listening.flatMap((listener) => {
      const newest = histories.find((history) => history.workflowId === listener);
      return newest === undefined ? [] : keptMessages(newest);
    }),
  };
}

/** The target updates the memo when a release starts or ends (`workflows/target/target.ts`). */
function servesOf(memo: Readonly<Record<string, unknown>> | undefined): string | null {
  const serves = memo?.['serves'];
  return typeof serves === 'string' ? serves : null;
}

/** A signal that no worker has handled yet. Temporal keeps it until one does. */
export interface KeptMessage {
  readonly workflowId: string;
  /** The signal's name: `rollback`, `hold`, `abort`. */
  readonly message: string;
  readonly at: string;
  readonly who: string | null;
  readonly reason: string | null;
}

/** The signals since a worker last completed a workflow task, oldest first. */
export function keptMessages({ workflowId, history }: AuditedHistory): readonly KeptMessage[] {
  const events = history.events ?? [];
  const seen = events.findLastIndex((event) => event.workflowTaskCompletedEventAttributes != null);
  return events.slice(seen + 1).flatMap((event) => {
    const signaled = event.workflowExecutionSignaledEventAttributes;
    if (signaled == null) return [];
    const said = decode(signaled.input);
    return [
      {
        workflowId,
        message: signaled.signalName ?? '',
        at: new Date(timeOf(event)).toISOString(),
        who: textOf(said, 'who'),
        reason: textOf(said, 'reason'),
      },
    ];
  });
}

/** A raw signal may contain anything: fields that are not text are ignored. */
function textOf(said: unknown, field: string): string | null {
  const value = isRecord(said) ? said[field] : null;
  return typeof value === 'string' ? value : null;
}
