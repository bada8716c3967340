import type { Notice, SentNotice } from '../notify/notice.ts';
import { promotionIdAt } from '../promotion/promotion.ts';

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

/**
 * A notice with a link to its page: the release, the promotion or the target.
 * @param dashboard - the dashboard's URL; `null` if not known.
 */
export function linkedNotice(notice: Notice, dashboard: string | null): SentNotice {
  return { ...notice, dashboardUrl: pageLink(dashboard, addressOf(notice)) };
}

function addressOf({ kind, targetId, name }: Notice): string {
  if (kind === 'hold' || kind === 'hook' || name === null) return targetAddress(targetId);
  return kind === 'promotion'
    ? promotionAddress(promotionIdAt(targetId, name))
    : releaseAddress(targetId, name);
}
