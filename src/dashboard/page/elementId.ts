import { createHash } from 'node:crypto';

/** A valid id for an element that shows something of a workflow: always the same for the same thing. */
export function elementId(kind: string, workflowId: string): string {
  return `${kind}-${createHash('sha256').update(workflowId).digest('hex').slice(0, 12)}`;
}
