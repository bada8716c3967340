import { pageLink, promotionAddress, releaseAddress, targetAddress } from '../dashboard/addresses.ts';
import { promotionIdAt } from '../promotion/promotion.ts';
import type { Notice, SentNotice } from './notice.ts';

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
