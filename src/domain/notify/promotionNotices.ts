import type { PromotionRequest, PromotionResult } from '../promotion/promotion.ts';
import type { NoticeContent } from './notice.ts';
import { aboutTarget } from './targetNotices.ts';

/** What receivers are told of the end of a promotion; `undefined` where there was nothing to promote. */
export function promotionEndNotice(
  { name, to, requestedBy }: Pick<PromotionRequest, 'name' | 'to' | 'requestedBy'>,
  result: PromotionResult,
): NoticeContent | undefined {
  const { outcome, reason, code, artifact, commit, nothingToDo } = result;
  if (nothingToDo) return undefined;
  return {
    ...aboutTarget(to, requestedBy),
    event: outcome === 'released' ? 'promoted' : 'promotion_stopped',
    kind: 'promotion',
    ...{ name, outcome, reason, code, artifact, commit },
  };
}
