/** The page of a target. */
export function targetAddress(workflowId: string): string {
  return `/targets/${encodeURIComponent(workflowId)}`;
}

/** The page of a release or a rollback. */
export function releaseAddress(targetWorkflowId: string, releaseId: string): string {
  return `/releases/${encodeURIComponent(targetWorkflowId)}/${encodeURIComponent(releaseId)}`;
}

/** The page of a promotion. */
export function promotionAddress(workflowId: string): string {
  return `/promotions/${encodeURIComponent(workflowId)}`;
}

/** The page that compares a release with the one before. */
export function changesAddress(targetWorkflowId: string, releaseId: string): string {
  return `${releaseAddress(targetWorkflowId, releaseId)}/changes`;
}
