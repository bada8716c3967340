import type { ActivityFact, WorkFact } from './facts.ts';

const CHANGES = new Set(['createDeployment', 'patchDeployment', 'redeployRevision']);

/** Whether an activity changes a deployment. */
export function isChange({ name }: ActivityFact): boolean {
  return CHANGES.has(name);
}

/** A change of a deployment that is known. */
export interface Change {
  readonly workflowId: string;
  readonly deploymentId: string;
  /** When it was scheduled, in milliseconds since 1970. */
  readonly at: number;
}

/** What a release or a rollback changed, and where. To create a deployment changes nothing of another target's. */
export function changesOf({ workflowId, activities }: WorkFact): Change[] {
  return activities.filter(isChange).flatMap(({ input, scheduledAt: at }) => {
    const { deploymentId } = input;
    return typeof deploymentId === 'string' ? [{ workflowId, deploymentId, at }] : [];
  });
}
