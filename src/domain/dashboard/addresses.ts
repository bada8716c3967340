/**
 * The full URL of a page, for links from elsewhere.
 *
 * @param dashboard - the dashboard's URL, `https://HOST`; `null` if not known: then there is no link.
 */
export function pageLink(dashboard: string | null, address: string): string | null {
  return dashboard === null ? null : `${dashboard}${address}`;
}

export function targetAddress(workflowId: string): string {
  return `/targets/${encodeURIComponent(workflowId)}`;
}

export function releaseAddress(targetWorkflowId: string, releaseId: string): string {
  return `/releases/${encodeURIComponent(targetWorkflowId)}/${encodeURIComponent(releaseId)}`;
}

export function promotionAddress(workflowId: string): string {
  return `/promotions/${encodeURIComponent(workflowId)}`;
}

/** The page that compares a release with the one before. */
export function changesAddress(targetWorkflowId: string, releaseId: string): string {
  return `${releaseAddress(targetWorkflowId, releaseId)}/changes`;
}
