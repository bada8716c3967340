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
  since: 7,
} as const;
const { releaseId: _, since, ...ENDED } = REPORT;
const GUARDED = { guarded: { since } };
const BREACH = { metric: 'errors', kind: 'above_max', value: 0.12, limit: 0.05 } as const;

it('a guard ends once, and by its own report alone', () => {
  const ended = endGuard({ guard: GUARDING, ...GUARDED }, REPORT);
  expect(ended?.ended).toEqual(ENDED);
  expect(endGuard({ guard: ended, ...GUARDED }, { ...REPORT, verdict: 'passed' })).toBe(ended);
  expect(endGuard({ guard: GUARDING, ...GUARDED }, { ...REPORT, releaseId: 'release-2' })).toBe(GUARDING);
  expect(endGuard({}, REPORT)).toBeUndefined();
});

it('a report of the run before a guard began again does not end it, however late it is', () => {
  expect(endGuard({ guard: GUARDING, guarded: { since: since + 1 } }, REPORT)).toBe(GUARDING);
});

it('a guard that ended by itself, or by a person, just before its target preempted it keeps its own end', () => {
  const preempted = preemptGuard(GUARDING, 'release-4', REPORT.at);
  const reported = (verdict: 'passed' | 'canceled' | 'preempted') =>
    endGuard({ guard: preempted, ...GUARDED }, { ...REPORT, verdict });
  for (const verdict of ['passed', 'canceled'] as const)
    expect(reported(verdict)).toMatchObject({ ended: { verdict }, changedBy: 'release-4' });
  expect(reported('preempted')).toBe(preempted);
});

it('a guard that has found its release worse ends as canceled if a person cancels it, and as nothing else', () => {
  const worse = { guard: { ...GUARDING, ended: ENDED, changedBy: 'release-4' }, ...GUARDED };
  expect(endGuard(worse, { ...REPORT, verdict: 'canceled' })).toMatchObject({
    ended: { verdict: 'canceled' },
  });
  for (const verdict of ['passed', 'replaced', 'unknown'] as const)
    expect(endGuard(worse, { ...REPORT, verdict })).toBe(worse.guard);
});

it('only a guard that goes on, or has found its release worse, may ask for a rollback', () => {
  const worse = { ...GUARDING, ended: ENDED };
  expect(isInForce(GUARDING)).toBe(true);
  expect(isInForce(worse)).toBe(true);
  expect(isInForce(undefined)).toBe(false);
  for (const verdict of ['passed', 'preempted', 'canceled', 'replaced', 'unknown'] as const)
    expect(isInForce(endGuard({ guard: GUARDING, ...GUARDED }, { ...REPORT, verdict }))).toBe(false);
  for (const before of [GUARDING, worse])
    expect(isInForce(preemptGuard(before, 'release-4', REPORT.at))).toBe(false);
});

it('a guard that a change ends keeps what it had found, and says what changed', () => {
  expect(preemptGuard(GUARDING, 'release-4', REPORT.at)).toMatchObject({
    ended: { verdict: 'preempted', note: 'release-4 began' },
    changedBy: 'release-4',
  });
  expect(preemptGuard({ ...GUARDING, ended: ENDED }, 'release-4', REPORT.at).ended).toBe(ENDED);
});

it('its text names the metric and its values', () => {
  expect(guardText(GUARDING)).toBe('release-3 is guarded until 2026-11-25 10:00:00Z');
  const ended = { ...GUARDING, ended: { ...ENDED, breach: BREACH } };
  expect(guardText(ended)).toBe('release-3: the guard asked for a rollback, errors 0.12 > 0.05');
});

it('reads reports from any sender, and refuses what is none', () => {
  const sent = { ...REPORT, breach: BREACH };
  expect(readGuardReport({ ...sent, more: 1 })).toEqual(sent);
  expect(readGuardReport({ ...REPORT, breach: { metric: 'errors', kind: 'odd' } })).toEqual(REPORT);
  for (const wrong of [7, null, [], {}, { ...REPORT, verdict: 'toString' }, ENDED])
    expect(readGuardReport(wrong)).toBeTypeOf('string');
});
