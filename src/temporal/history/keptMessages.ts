import { decode, timeOf } from './payloads.ts';
import type { AuditedHistory } from './readFacts.ts';

/** Something that was said by signal and that no worker has seen: Temporal keeps it until one does. */
export interface KeptMessage {
  /** Whom it was said to: the workflow's id. */
  readonly workflowId: string;
  /** What was said: the signal's name, `rollback`, `hold`, `abort`. */
  readonly message: string;
  /** ISO 8601. */
  readonly at: string;
  /** Who said it, as far as it tells. */
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
