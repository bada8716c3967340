import { expect, it } from 'vitest';

import { interventionProblem } from '../../../src/domain/intervention/intervention.ts';
import { standingOf } from '../../../src/domain/intervention/standing.ts';
import { type Progress, startingProgress, type StepRecord } from '../../../src/domain/release/release.ts';
import { ADA, NOW, request } from '../target/targets.ts';

const CHECK = { assistant: 'agent', input: {}, expect: {}, timeoutMs: 1 };
const REQUEST = request('a', {
  checks: [
    { ...CHECK, name: 'greets' },
    { ...CHECK, name: 'adds' },
  ],
  soakMs: 1,
});
const FREEZE = { name: 'nights', timeZone: 'UTC', from: '22:00', until: '06:00', then: 'wait' } as const;
const BO = { who: 'bo', from: 'dashboard' };

function progress(changes: Partial<Progress> = {}): Progress {
  const start = startingProgress({ releaseId: 'release-1', kind: 'release', startedAt: NOW });
  return { ...start, phase: 'check', ...changes };
}

function step(changes: Partial<StepRecord>): StepRecord {
  return { step: 'check', restoring: false, startedAt: NOW, status: 'done', ...changes };
}

function taken(kind: 'pause' | 'resume' | 'approve' | 'skip' | 'abort', what?: string) {
  return { id: kind, kind, what, by: BO, at: NOW, taken: true, note: '' } as const;
}

it('the steps ahead are those neither passed nor skipped', () => {
  const steps = [step({ step: 'baseline', subject: 'adds' }), step({ subject: 'greets' })];
  expect(standingOf(progress({ steps }), REQUEST).ahead).toEqual(['adds', 'soak']);
  const interventions = [taken('skip', 'soak')];
  expect(standingOf(progress({ interventions }), REQUEST).ahead).toEqual(['greets', 'adds']);
});

it('a running check, or one that a restore passed, is still ahead', () => {
  const steps = [step({ subject: 'greets', status: 'running' }), step({ subject: 'adds', restoring: true })];
  expect(standingOf(progress({ steps }), REQUEST).ahead).toEqual(['greets', 'adds', 'soak']);
});

it('a freeze that it waits for, and a judge that did not decide, are still ahead', () => {
  const asked = { ...REQUEST, checks: [], soakMs: 0, judged: true, freezes: [FREEZE] };
  const steps = [step({ step: 'freeze' }), step({ step: 'judge' })];
  const waits = (what: 'approval' | 'decision' | 'freeze') =>
    standingOf(progress({ steps, waiting: { for: what, since: NOW, until: NOW, note: '' } }), asked).ahead;
  expect(waits('freeze')).toEqual(['freeze']);
  expect(waits('decision')).toEqual(['judge']);
  expect(waits('approval')).toEqual([]);
});

it('it is paused from the moment of a person’s request', () => {
  expect(standingOf(progress({ interventions: [taken('pause')] }), REQUEST).paused).toBe(true);
  expect(standingOf(progress({ interventions: [taken('pause'), taken('resume')] }), REQUEST).paused).toBe(
    false,
  );
});

it('no message is accepted during a restore, a stop or after the end', () => {
  const stopping = [
    progress({ steps: [step({ step: 'redeploy', restoring: true })] }),
    progress({ interventions: [taken('abort')] }),
    progress({ outcome: 'released' }),
  ];
  for (const each of stopping)
    expect(interventionProblem(standingOf(each, REQUEST), { kind: 'abort', by: BO })).toBeDefined();
});

it('the requester, the releaser and people who have approved cannot approve', () => {
  const waiting = { for: 'approval', since: NOW, until: NOW, note: '' } as const;
  const asked = { ...REQUEST, approval: { required: 2, withinMs: 1 } };
  const standing = standingOf(progress({ waiting, interventions: [taken('approve')] }), asked);
  const problemFor = (who: string) =>
    interventionProblem(standing, { kind: 'approve', by: { who, from: 'x' } });
  expect(problemFor(ADA.who)).toContain('asked for it');
  expect(problemFor('bo')).toContain('has approved already');
  expect(problemFor('cy')).toBeUndefined();
  const madeBy = [{ who: 'cy', from: 'cli' }];
  const promoted = standingOf(progress({ waiting, madeBy }), asked);
  expect(interventionProblem(promoted, { kind: 'approve', by: madeBy[0] ?? BO })).toContain('released');
});
