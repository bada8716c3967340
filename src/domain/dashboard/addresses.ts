/**
 * A page's whole address, for a link from outside of the page.
 *
 * @param dashboard - where the dashboard is, `https://HOST`; `null`: not known, and there is no link.
 */
export function pageLink(dashboard: string | null, address: string): string | null {
  return dashboard === null ? null : `${dashboard}${address}`;
}

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
