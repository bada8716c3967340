import { createHash } from 'node:crypto';

/** The id of an element that shows something of Temporal's: the same for the same thing, and a valid name. */
export function elementId(kind: string, workflowId: string): string {
  return `${kind}-${createHash('sha256').update(workflowId).digest('hex').slice(0, 12)}`;
}
