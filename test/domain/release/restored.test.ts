import { expect, it } from 'vitest';

import { restoredRevisions } from '../../../src/domain/release/restored.ts';
import { counterTo } from '../../../src/domain/target/lateRevisions.ts';
import { EMPTY_TARGET } from '../../../src/domain/target/targetState.ts';
import { sampleResult, sampleStep } from '../../cli/ui/sampleProgress.ts';

const redeploy = (subject: string, status: 'done' | 'failed' = 'done') =>
  sampleStep({ step: 'redeploy', subject, restoring: true, status });
const ada = { who: 'ada', from: 'cli' };
const LATE = { revisionId: 'late', deploymentId: 'd', restoreTo: 'r0', until: 'later' };

it('a restored baseline is described as having served before', () => {
  const result = sampleResult({ baseline: { revisionId: 'r1', verified: true }, steps: [redeploy('r1')] });
  expect(restoredRevisions({ ...result, preemptedBy: null })).toEqual([
    { revisionId: 'r1', done: true, why: 'it served before this release, and had passed its checks' },
  ]);
});

it('the next revision is described as chosen because the earlier one could not be restored', () => {
  const steps = [redeploy('r1', 'failed'), redeploy('r0')];
  const result = sampleResult({ baseline: { revisionId: 'r1', verified: true }, steps });
  const [, second] = restoredRevisions({ ...result, preemptedBy: null });
  expect(second).toMatchObject({ revisionId: 'r0', done: true });
  expect(second?.why).toContain('could not be restored');
});

it('a second try of a revision is not described as another revision', () => {
  const result = sampleResult({ steps: [redeploy('r1'), redeploy('r1')] });
  const [, second] = restoredRevisions({ ...result, preemptedBy: null });
  expect(second?.why).toBe('one more try, because the one before did not succeed');
});

it('a rollback of its own does not say who chose its revision, which its result does not show', () => {
  const result = sampleResult({ kind: 'rollback', steps: [redeploy('r0')], requestedBy: ada });
  expect(restoredRevisions(result)[0]?.why).toBe('ada asked for a rollback');
});

it('a revision that a person named is described as named', () => {
  const preemptedBy = { requestId: 'q', to: 'r0', requestedBy: ada };
  const result = sampleResult({ steps: [redeploy('r0')], preemptedBy });
  expect(restoredRevisions(result)[0]?.why).toBe('ada named it');
});

it('the rollback from a late revision is not described as a person’s', () => {
  const counter = counterTo({ ...EMPTY_TARGET, activeRevisionId: 'r0' }, LATE, 'q');
  const result = sampleResult({ steps: [redeploy('r0')], preemptedBy: counter });
  expect(restoredRevisions(result)[0]?.why).toBe('it was to serve when the late revision became active');
});
