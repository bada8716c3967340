import { expect, it } from 'vitest';

import { restoreSpanOf } from '../../../src/domain/delivery/restoreSpan.ts';
import type { StepRecord } from '../../../src/domain/release/release.ts';
import { result } from '../target/targets.ts';

/** A step that begins at a second and takes one second. */
function step(second: number, changes: Partial<StepRecord>): StepRecord {
  return {
    step: 'check',
    restoring: false,
    startedAt: at(second),
    endedAt: at(second + 1),
    status: 'done',
    ...changes,
  };
}

function at(second: number): string {
  return `2026-01-01T00:00:${String(second).padStart(2, '0')}.000Z`;
}

const RESTORED = [
  step(5, { step: 'redeploy', restoring: true }),
  step(6, { step: 'serving', restoring: true }),
  step(9, { step: 'check', restoring: true }),
];

it('a failed release was restored from the end of the step that failed', () => {
  const steps = [step(1, {}), step(2, { status: 'failed' }), ...RESTORED];
  const span = restoreSpanOf(result('release-1', { outcome: 'rolled_back', steps }));
  expect(span).toEqual({ since: at(3), servedAt: at(7) });
});

it('a release that was stopped, from the end of the step that was canceled', () => {
  const steps = [step(2, { status: 'canceled' }), ...RESTORED];
  expect(restoreSpanOf(result('release-1', { outcome: 'rolled_back', steps }))?.since).toBe(at(3));
});

it('one that failed between two steps, from the beginning of the restore', () => {
  const steps = [step(1, {}), ...RESTORED];
  expect(restoreSpanOf(result('release-1', { outcome: 'rolled_back', steps }))?.since).toBe(at(5));
});

it('until the last revision serves, if the first one that was restored did not stay', () => {
  const again = step(20, { step: 'serving', restoring: true });
  const steps = [step(2, { status: 'failed' }), ...RESTORED, again];
  expect(restoreSpanOf(result('release-1', { outcome: 'rolled_back', steps }))?.servedAt).toBe(at(21));
});

it('a rollback, from its beginning', () => {
  const changes = { outcome: 'rolled_back', steps: RESTORED, startedAt: at(1) } as const;
  expect(restoreSpanOf(result('rollback-2', changes))).toEqual({ since: at(1), servedAt: at(7) });
});

it('no time to restore exists if nothing serves again', () => {
  const [redeploy] = RESTORED;
  const failed = step(6, { step: 'serving', restoring: true, status: 'failed' });
  expect(restoreSpanOf(result('release-1', { steps: [step(1, {})] }))).toBeUndefined();
  expect(
    restoreSpanOf(result('release-1', { outcome: 'rollback_failed', steps: [redeploy!, failed] })),
  ).toBeUndefined();
});
