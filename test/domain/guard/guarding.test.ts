import { expect, it } from 'vitest';

import {
  endGuard,
  type Guarding,
  guardText,
  isInForce,
  preemptGuard,
  readGuardReport,
} from '../../../src/domain/guard/guarding.ts';

const GUARDING: Guarding = {
  workflowId: 'guard:w/release-3',
  releaseId: 'release-3',
  revisionId: 'r3',
  until: '2026-11-25T10:00:00.000Z',
};
const REPORT = {
  releaseId: 'release-3',
  at: '2026-11-25T09:30:00.000Z',
  verdict: 'worse',
  note: 'n',
} as const;
const BREACH = { metric: 'errors', kind: 'above_max', value: 0.12, limit: 0.05 } as const;

it('a guard ends once, and by its own report alone', () => {
  const ended = endGuard({ guard: GUARDING }, REPORT);
  expect(ended?.ended).toMatchObject({ verdict: 'worse' });
  expect(endGuard({ guard: ended }, { ...REPORT, verdict: 'passed' })).toBe(ended);
  expect(endGuard({ guard: GUARDING }, { ...REPORT, releaseId: 'release-2' })).toBe(GUARDING);
  expect(endGuard({}, REPORT)).toBeUndefined();
});

it('a report of the run before a guard began again does not end it, however late it is', () => {
  const since = Date.parse(REPORT.at);
  const begun = { guard: GUARDING, guarded: { since } };
  const late = { ...REPORT, at: '2026-11-25T09:30:00.500Z' };
  expect(endGuard(begun, { ...late, since: since - 60_000 })).toBe(GUARDING);
  expect(endGuard(begun, { ...late, since })?.ended).toBeDefined();
});

it('a report from before a guard began again does not end it if a worker of an earlier version sends it', () => {
  const since = Date.parse(REPORT.at);
  const again = { guard: GUARDING, guarded: { since: since + 1 } };
  expect(endGuard(again, REPORT)).toBe(GUARDING);
  expect(endGuard({ ...again, guarded: { since } }, REPORT)?.ended).toBeDefined();
});

it('only a guard that goes on, or has found its release worse, may ask for a rollback', () => {
  const worse = { ...GUARDING, ended: REPORT };
  expect(isInForce(GUARDING)).toBe(true);
  expect(isInForce(worse)).toBe(true);
  expect(isInForce(undefined)).toBe(false);
  for (const verdict of ['passed', 'preempted', 'replaced', 'unknown'] as const)
    expect(isInForce(endGuard({ guard: GUARDING }, { ...REPORT, verdict }))).toBe(false);
  for (const before of [GUARDING, worse])
    expect(isInForce(preemptGuard(before, 'release-4', REPORT.at))).toBe(false);
});

it('a guard that a change ends keeps what it had found, and says what changed', () => {
  expect(preemptGuard(GUARDING, 'release-4', REPORT.at)).toMatchObject({
    ended: { verdict: 'preempted', note: 'release-4 began' },
    changedBy: 'release-4',
  });
  expect(preemptGuard({ ...GUARDING, ended: REPORT }, 'release-4', REPORT.at).ended).toBe(REPORT);
});

it('its text names the metric and its values', () => {
  expect(guardText(GUARDING)).toBe('release-3 is guarded until 2026-11-25 10:00:00Z');
  const ended = { ...GUARDING, ended: { ...REPORT, breach: BREACH } };
  expect(guardText(ended)).toBe('release-3: the guard asked for a rollback, errors 0.12 > 0.05');
});

it('reads reports from any sender, and refuses what is none', () => {
  const sent = { ...REPORT, breach: BREACH, since: 1 };
  expect(readGuardReport({ ...sent, more: 1 })).toEqual(sent);
  expect(readGuardReport({ ...REPORT, breach: { metric: 'errors', kind: 'odd' } })).toEqual(REPORT);
  for (const wrong of [7, null, [], {}, { ...REPORT, verdict: 'toString' }, { ...REPORT, at: 1 }])
    expect(readGuardReport(wrong)).toBeTypeOf('string');
});
