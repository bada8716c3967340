import { expect, it } from 'vitest';

import { linkedNotice } from '../../../src/domain/dashboard/addresses.ts';
import type { Notice } from '../../../src/domain/notify/notice.ts';
import { promotionWorkflowId } from '../../../src/domain/promotion/promotion.ts';
import { targetWorkflowId } from '../../../src/domain/target/targetSpec.ts';
import { notice } from '../notify/notices.ts';
import { request } from '../target/targets.ts';

const DASHBOARD = 'https://slipway.example.com';
const { target: TARGET } = request('any');
const targetId = targetWorkflowId(TARGET);

function path(changes: Partial<Notice>): string | undefined {
  const url = linkedNotice(notice({ targetId, ...changes }), DASHBOARD).dashboardUrl;
  return url?.slice(DASHBOARD.length);
}

it('a notice links to the page of its release or rollback', () => {
  const id = encodeURIComponent(targetId);
  expect(path({ kind: 'release', name: 'release-3' })).toBe(`/releases/${id}/release-3`);
  expect(path({ kind: 'rollback', name: 'rollback-4' })).toBe(`/releases/${id}/rollback-4`);
});

it('a notice of a promotion links to the promotion, by its workflow’s id', () => {
  const workflowId = promotionWorkflowId({ name: 'up', to: TARGET });
  expect(path({ kind: 'promotion', name: 'up' })).toBe(`/promotions/${encodeURIComponent(workflowId)}`);
});

it('a notice of a hold, or of an event that waits for approval, links to the target', () => {
  expect(path({ kind: 'hold', name: null })).toBe(`/targets/${encodeURIComponent(targetId)}`);
  expect(path({ kind: 'hook', name: 'e1' })).toBe(`/targets/${encodeURIComponent(targetId)}`);
});

it('a notice has no link if the dashboard’s address is unknown', () => {
  expect(linkedNotice(notice(), null).dashboardUrl).toBeNull();
});
