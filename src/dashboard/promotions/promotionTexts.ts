import { frozenAt } from '../../domain/freeze/freeze.ts';
import type { ListedPromotion } from '../../temporal/client/promotion/listPromotions.ts';
import type { Headline } from '../targets/targetTexts.ts';

/** A promotion's state in a word, and its color. `now`: milliseconds since 1970. */
export function promotionHeadline({ view, request }: ListedPromotion, now: number): Headline {
  switch (view.state) {
    case 'none':
      return { tone: 'quiet', words: 'has not run' };
    case 'stopped':
      return { tone: 'warn', words: view.status };
    case 'ended': {
      const { outcome, nothingToDo } = view.result;
      if (nothingToDo) return { tone: 'quiet', words: 'nothing to do' };
      if (outcome === 'released') return { tone: 'good', words: 'promoted' };
      const isUrgent = outcome === 'errored' || outcome === 'rollback_failed';
      return { tone: isUrgent ? 'bad' : 'warn', words: outcome.replaceAll('_', ' ') };
    }
    case 'running': {
      const { progress } = view;
      if (progress === undefined) return { tone: 'warn', words: 'does not answer' };
      const waiting = progress.waiting?.for;
      if (waiting === 'approval') return { tone: 'warn', words: 'waits for approval' };
      if (waiting === 'decision') return { tone: 'bad', words: 'waits for a decision' };
      if (waiting === 'resume') return { tone: 'warn', words: 'paused' };
      if (waiting === 'freeze' || frozenAt(request.freezes, now) !== null)
        return { tone: 'warn', words: 'frozen' };
      return { tone: 'active', words: 'under way' };
    }
  }
}

/** Promotions in the order in which artifacts pass them: a promotion comes after those that lead to its source. */
export function inFlowOrder(promotions: readonly ListedPromotion[]): readonly ListedPromotion[] {
  const left = [...promotions];
  const ordered: ListedPromotion[] = [];
  while (left.length > 0) {
    const next = left.findIndex(
      ({ request: { from } }) => !left.some(({ request: { to } }) => to.name === from.name),
    );
    // A cycle has no beginning: any promotion can be first.
    ordered.push(...left.splice(Math.max(next, 0), 1));
  }
  return ordered;
}
