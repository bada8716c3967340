import { describe, expect, it } from 'vitest';

import type { Progress, StepRecord } from '../../src/domain/release/release.ts';
import { stepElapsedMs, stepTitle, describeProgress, describeTarget } from '../../src/domain/story.ts';
import { recordResult } from '../../src/domain/target/targetResult.ts';
import { EMPTY_TARGET } from '../../src/domain/target/targetState.ts';
import { result, runs } from './target/targets.ts';

const STEP: StepRecord = {
  step: 'check',
  subject: 'greets',
  restoring: false,
  startedAt: '2026-01-01T00:00:00.000Z',
  endedAt: '2026-01-01T00:00:01.500Z',
  attempts: 2,
  status: 'done',
  detail: 'hello',
};

const PROGRESS: Progress = {
  releaseId: 'release-1',
  kind: 'release',
  phase: 'check greets',
  startedAt: STEP.startedAt,
  deploymentId: 'deployment',
  revisionId: 'revision',
  baseline: null,
  steps: [STEP],
  verdicts: [],
  outcome: null,
  instructions: null,
  waiting: null,
  interventions: [],
};

describe('the story of a release', () => {
  it('has its current activity, and each step in a row', () => {
    const text = describeProgress(PROGRESS);
    expect(text).toContain('**release-1**: check greets');
    expect(text).toContain('deployment `deployment`');
    expect(text).toContain('| check greets | done | 1.5 | 2 | hello |');
  });

  it('has the outcome after the end', () => {
    expect(describeProgress({ ...PROGRESS, outcome: 'rolled_back' })).toContain('**release-1**: rolled_back');
  });

  it('has the judge’s result, and the place of its report', () => {
    const judgement = {
      verdict: 'inconclusive',
      reasons: ['latency: it may be worse by 20.0 %'],
      baselineRevisionId: 'one',
      candidateRevisionId: 'two',
      report: 'judgements/one/report.json',
      at: STEP.startedAt,
    } as const;
    expect(describeProgress({ ...PROGRESS, kind: 'promotion', judgement })).toContain(
      'judged inconclusive: latency: it may be worse by 20.0 % (report: judgements/one/report.json)',
    );
  });

  it('begins with what a person must do', () => {
    const text = describeProgress({ ...PROGRESS, outcome: 'rollback_failed', instructions: '1. look' });
    expect(text.split('\n').slice(2, 6)).toEqual(['**NEEDS A PERSON**', '', '```', '1. look']);
  });

  it('keeps each step in its row, with any name of a check and any answer of an agent', () => {
    const { endedAt: _, ...running } = STEP;
    const steps: StepRecord[] = [{ ...running, status: 'running', subject: 'a|b\nc', detail: 'x|y\r\nz' }];
    const rows = describeProgress({ ...PROGRESS, steps }).split('\n');
    expect(rows.at(-1)).toBe('| check a\\|b c | running |  | 2 | x\\|y z |');
  });
});

describe('the story of a target', () => {
  it('describes a new one as idle', () => {
    expect(describeTarget(EMPTY_TARGET, null)).toContain('**new target**: idle');
  });

  it('has what a person must do', () => {
    const needsPerson = { releaseId: 'release-1', since: 'noon', instructions: '1. look' };
    expect(describeTarget({ ...EMPTY_TARGET, needsPerson }, null)).toContain('```\n1. look\n```');
  });

  it('has the hold with its reason, what serves, what waits, and the last outcomes', () => {
    const by = { who: 'ada', from: 'cli', reason: 'freeze' };
    const results = Array.from({ length: 12 }, (_, index) =>
      result(`release-${index}`, { outcome: 'failed', reason: 'no luck' }),
    );
    const { history } = results.reduce((state, ended) => recordResult(state, ended, 1), EMPTY_TARGET);
    const state = { ...EMPTY_TARGET, hold: { since: 'noon', by }, activeRevisionId: 'revision', history };
    const text = describeTarget(state, runs('release-13'));
    expect(text).toContain(': release-13');
    expect(text).toContain('on hold since noon, set by ada: freeze');
    expect(text).toContain('serves revision `revision`');
    expect(text).toContain('- release-11: failed, no luck');
    expect(text).not.toContain('- release-1: ');
    expect(text.indexOf('release-11:')).toBeLessThan(text.indexOf('release-10:'));
  });
});

describe('a step', () => {
  it('is named after its subject, and marked if it belongs to a restore', () => {
    expect(stepTitle(STEP)).toBe('check greets');
    expect(stepTitle({ step: 'redeploy', restoring: true })).toBe('restore: redeploy');
  });

  it('counts its time up to now while it runs', () => {
    const { endedAt: _, ...running } = STEP;
    expect(stepElapsedMs(STEP, 0)).toBe(1_500);
    expect(stepElapsedMs({ ...running, status: 'running' }, Date.parse('2026-01-01T00:00:04.000Z'))).toBe(
      4_000,
    );
  });
});
