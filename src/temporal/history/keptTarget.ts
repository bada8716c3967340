import { WorkflowNotFoundError } from '@temporalio/client';

import type { WorkFact } from '../../domain/audit/facts.ts';
import { SlipwayError } from '../../domain/errors.ts';
import { pastOfWork, type PastRelease } from '../../domain/release/pastRelease.ts';
import type { TemporalConnection } from '../client/connection.ts';
import { temporalError } from '../client/temporalError.ts';
import { fetchHistories } from './fetchHistories.ts';
import { decode, timeOf } from './payloads.ts';
import { type AuditedHistory, readTargetFacts } from './readFacts.ts';

/** What Temporal itself knows of a target, if no worker answers. */
export interface KeptTarget {
  /** What runs, by its history; `null`: nothing. */
  readonly running: WorkFact | null;
  /** The revision that served when the target last did something, as far as it knew; `null`: it did not know. */
  readonly servingRevisionId: string | null;
  /** What has ended, oldest first. */
  readonly ended: readonly PastRelease[];
  /** What waits for a worker, said to the target or to what runs on it; oldest first. */
  readonly messages: readonly KeptMessage[];
}

/** How long all of it may take, in milliseconds. */
const READ_TIMEOUT_MS = 15_000;

/**
 * Reads what Temporal keeps of a target: its memo, its histories. What waits in its queue, its hold and its quarantine
 * are known to no one: they are not listed.
 *
 * @param workflowId - the target's.
 * @param last - how many ended releases are read.
 * @returns `undefined` if the target has never taken a release.
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function readKeptTarget(
  temporal: TemporalConnection,
  workflowId: string,
  last: number,
): Promise<KeptTarget | undefined> {
  const { client, settings } = temporal;
  try {
    return await client.withDeadline(Date.now() + READ_TIMEOUT_MS, async () => {
      const { memo } = await client.workflow.getHandle(workflowId).describe();
      // One more than were asked for: the newest may run still.
      const histories = await fetchHistories(temporal, workflowId, { newest: last + 1 });
      return { servingRevisionId: servesOf(memo), ...readKept(workflowId, histories, last) };
    });
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    if (error instanceof SlipwayError && error.code === 'SLIPWAY_TARGET_NEVER_RELEASED') return undefined;
    throw temporalError(error, settings);
  }
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

/** The target notes it whenever something has begun or ended (`workflows/target/target.ts`). */
function servesOf(memo: Readonly<Record<string, unknown>> | undefined): string | null {
  const serves = memo?.['serves'];
  return typeof serves === 'string' ? serves : null;
}

/** Something that was said by signal and that no worker has seen: Temporal keeps it until one does. */
export interface KeptMessage {
  /** Whom it was said to: the workflow's id. */
  readonly workflowId: string;
  /** What was said: the signal's name, `rollback`, `hold`, `abort`. */
  readonly message: string;
  /** ISO 8601. */
  readonly at: string;
  /** Who sent it, if it says so. */
  readonly who: string | null;
  readonly reason: string | null;
}

/** The messages that came after the last time that a worker took a workflow up, oldest first. */
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

/** Anybody can say anything: what is no text is not told. */
function textOf(said: unknown, field: string): string | null {
  if (typeof said !== 'object' || said === null) return null;
  const value: unknown = Object.entries(said).find(([name]) => name === field)?.[1];
  return typeof value === 'string' ? value : null;
}
