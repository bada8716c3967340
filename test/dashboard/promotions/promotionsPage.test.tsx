import { expect, it } from 'vitest';

import { type TargetSnapshot, unreadTarget } from '../../../src/dashboard/live/targetWatch.ts';
import { renderText } from '../../../src/dashboard/page/layout.tsx';
import { PromotionDetails } from '../../../src/dashboard/promotions/promotionPage.tsx';
import { Flow, Promotions } from '../../../src/dashboard/promotions/promotionsPage.tsx';
import { waitingPromotions } from '../../../src/dashboard/promotions/waitingPromotions.tsx';
import { Targets } from '../../../src/dashboard/targets/targetRoutes.tsx';
import type { PromotionRequest } from '../../../src/domain/promotion/promotion.ts';
import { startingProgress } from '../../../src/domain/release/release.ts';
import { targetWorkflowId } from '../../../src/domain/target/targetSpec.ts';
import { EMPTY_TARGET } from '../../../src/domain/target/targetState.ts';
import { keyMissing } from '../../../src/temporal/codec/payloadCipher.ts';
import { NOW, request, seasoned } from '../../domain/target/targets.ts';

const { target: to } = request('a');
const from = { ...to, name: 'canary', deployment: 'canary' };

it('a target that does not answer is not said to serve nothing', () => {
  const canary = unreadTarget({ workflowId: targetWorkflowId(from), name: 'canary' });
  const silence = { why: 'no worker answers', hint: undefined, since: 0 };
  expect(flow({ ...canary, silence })).toContain('>does not answer<');
  expect(flow({ ...canary, view: { state: EMPTY_TARGET, running: null } })).toContain('>nothing serves<');
});

it('what serves on a target that no longer answers is marked as its last known state', () => {
  const canary = unreadTarget({ workflowId: targetWorkflowId(from), name: 'canary' });
  const answering = {
    ...canary,
    view: { state: seasoned({ activeRevisionId: 'revision-1' }), running: null },
  };
  const silence = { why: 'Temporal does not answer', hint: undefined, since: 0 };
  expect(flow(answering)).not.toContain('last known state');
  expect(flow({ ...answering, silence })).toContain('this is its last known state');
});

it('the page of a promotion says who asked for it, from where, and why', () => {
  const page = renderText(<PromotionDetails {...shown([])} judged={null} temporalPage={null} />);
  expect(page).toContain('by bo (claimed), from cli: faster answers');
});

it('the promotions page names a promotion whose payload key is missing, after the others', () => {
  const { promotion, ...props } = shown([]);
  const sealed = new Map([['promotion:http://x:greeter:down', keyMissing({ metadata: {} })]]);
  const page = renderText(<Promotions promotions={[promotion]} sealed={sealed} {...props} />);
  expect(page).toMatch(
    />up<.*down: a payload in Temporal is encrypted with the key .*; add the key, as every/s,
  );
});

it('the promotions page has promotions from the same target in the order of their names, with numbers as numbers', () => {
  const { promotion, ...props } = shown([]);
  const promotions = ['up-10', 'up-2'].map((name) => ({
    ...promotion,
    request: { ...promotion.request, name },
  }));
  const page = renderText(<Promotions promotions={promotions} sealed={new Map()} {...props} />);
  expect(page.match(/(?<=>)up-\d+/gu)).toEqual(['up-2', 'up-10']);
});

it('the overview has a card of a promotion that waits for a person, although its target never took a release', () => {
  const { promotion, ...props } = shown([]);
  const waiting = { for: 'approval', since: NOW, until: NOW, note: 'one approval is needed' } as const;
  const started = startingProgress({ releaseId: 'up', kind: 'promotion', startedAt: NOW });
  const running = (changes: object) =>
    ({ ...promotion, view: { state: 'running', progress: { ...started, ...changes } } }) as const;
  const page = renderText(<Targets promotions={[running({ waiting })]} {...props} />);
  expect(page).toMatch(/<p id="summary".*>up<\/a> waits for approval<\/p>.*one approval is needed/s);
  const frozen = running({ waiting: { ...waiting, for: 'freeze' } });
  expect(waitingPromotions([promotion, running({}), frozen, running({ waiting })])).toHaveLength(1);
});

function flow(snapshot: TargetSnapshot): string {
  return renderText(<Flow {...shown([snapshot])} />);
}

/** A promotion from a target, to one that has taken no release. */
function shown(snapshots: readonly TargetSnapshot[]) {
  const requestedBy = { who: 'bo', from: 'cli', reason: 'faster answers' };
  const asked = { name: 'up', from, to, freezes: [], differences: [], release: { checks: [] }, requestedBy };
  const promoted = asked as unknown as PromotionRequest;
  const promotion = { workflowId: 'p', request: promoted, view: { state: 'none' }, startedAt: null } as const;
  const viewer = { name: 'grace', proved: true, role: 'view' } as const;
  return { promotion, snapshots, viewer, now: Date.parse(NOW) };
}
