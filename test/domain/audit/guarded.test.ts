import { describe, expect, it } from 'vitest';

import { guarded } from '../../../src/domain/audit/guarded.ts';
import type { GuardFact, TargetFacts, WorkFact } from '../../../src/domain/audit/facts.ts';
import type { GuardReport } from '../../../src/domain/guard/guarding.ts';
import type { Breach } from '../../../src/domain/guard/measurement.ts';
import type { GuardPolicy } from '../../../src/domain/guard/guardPolicy.ts';
import type { ReleaseResult } from '../../../src/domain/release/release.ts';
import { request } from '../target/targets.ts';
import { activity, targetFacts, workFact } from './activityFact.ts';

const HOUR_MS = 3_600_000;
/** The release ended at 100, and was guarded for an hour. */
const UNTIL = 100 + HOUR_MS;
const POLICY: GuardPolicy = {
  forMs: HOUR_MS,
  everyMs: 60_000,
  afterMs: 60_000,
  noData: 'continue',
  metrics: [
    { name: 'errors', source: { kind: 'http', url: 'http://metrics.test', path: 'value' }, max: 0.05 },
  ],
};
const WORSE: Breach = { metric: 'errors', kind: 'above_max', value: 0.12, limit: 0.05 };
const NO_DATA: Breach = { metric: 'errors', kind: 'no_data', value: null, limit: null };

/** A guard that found its release worse at 1,000, and whose rollback the target accepted. */
function worse(breach: Breach | undefined = WORSE, changes: Partial<GuardFact> = {}): GuardFact {
  return guard({ verdict: 'worse', breach }, 1_000, {
    answer: 'queued, starting',
    activities: [
      activity('guardRevision', {}, 1_000),
      activity('rollBackTarget', {}, 1_001, { answer: { disposition: 'queued' } }),
    ],
    ...changes,
  });
}

function guard(
  report: Pick<GuardReport, 'verdict' | 'breach'>,
  at: number,
  changes: Partial<GuardFact> = {},
): GuardFact {
  return {
    ...{ workflowId: 'guard:t/release-1', releaseId: 'release-1', revisionId: 'new' },
    ...{ policy: POLICY, since: 100, until: UNTIL },
    report: { releaseId: 'release-1', at: '', note: '', ...report },
    answer: null,
    preemptedAt: null,
    activities: [activity('guardRevision', {}, at)],
    ...changes,
  };
}

const RELEASED = workFact('release-1', { request: request('a', { guard: POLICY }) });

/** The guard's rollback of the revision `from`, which started at a time. */
function rollback(startedAt = 1_002, from = 'new', id = 'rollback-2'): WorkFact {
  const requestedBy = { who: 'guard', from: 'the guard of release-1' };
  const asked = { requestId: 'guard-release-1-t', from, guard: 'release-1', requestedBy };
  return workFact(id, { kind: 'rollback', startedAt, request: asked });
}

function found(guards: readonly GuardFact[], facts: Partial<TargetFacts> = {}): readonly string[] {
  const target = targetFacts({ works: [RELEASED], guards, ...facts });
  return guarded({ target, observed: null, secrets: [] }).map(({ what }) => what);
}

describe('an audit of guards', () => {
  it('allows a guard that passed, was pre-empted, goes on, or rolled its revision back once', () => {
    expect(found([guard({ verdict: 'passed' }, UNTIL)])).toEqual([]);
    expect(found([guard({ verdict: 'preempted' }, 50)])).toEqual([]);
    expect(found([guard({ verdict: 'passed' }, 500, { report: null })])).toEqual([]);
    expect(found([worse()], { works: [RELEASED, rollback()] })).toEqual([]);
    const refused = { answer: 'ignored, release-2 has begun since', activities: [] };
    expect(found([worse(WORSE, refused)])).toEqual([]);
  });

  it('finds a release with a guard that none was started for', () => {
    const unguarded = [RELEASED.workflowId];
    expect(found([], { unguarded })).toEqual(['its request has a guard, and none was started']);
    const plain = workFact('release-1', {});
    const failed = { ...RELEASED, result: workFact('release-1', {}, { outcome: 'failed' }).result };
    for (const work of [plain, failed]) expect(found([], { unguarded, works: [work] })).toEqual([]);
  });

  it('finds a guard that passed too early, or judged too late', () => {
    expect(found([guard({ verdict: 'passed' }, UNTIL - 5_000)])).toEqual([
      'it ended as passed before its time was over',
    ]);
    const late = worse(WORSE, { activities: [activity('guardRevision', {}, UNTIL + HOUR_MS)] });
    expect(found([late])).toEqual(['it judged its release long after its time was over']);
  });

  it.each([
    ['without a metric', undefined, 'it found its release worse, and does not say which metric is'],
    ['of a value that is not', { ...WORSE, value: 0.04 }, 'errors is within its limits'],
    ['of a metric that it does not ask', { ...WORSE, metric: 'cost' }, 'cost is within its limits'],
    ['for lack of data, against its policy', NO_DATA, 'errors had no data'],
  ])('finds a rollback %s', (_, breach, what) => {
    const unsaid = breach === undefined ? { report: { ...worse().report!, breach } } : {};
    const [violation, ...more] = found([worse(breach, unsaid)], { works: [RELEASED, rollback()] });
    expect(violation).toContain(what);
    expect(more).toEqual([]);
  });

  it('allows a rollback for lack of data if the policy says so', () => {
    const policy = { ...POLICY, noData: 'rollback' as const };
    expect(found([worse(NO_DATA, { policy })], { works: [RELEASED, rollback()] })).toEqual([]);
  });

  it('finds a worse release without a rollback and without a reason', () => {
    expect(found([worse(WORSE, { answer: null, activities: [] })])).toEqual([
      'it found its release worse, and has neither a rollback nor a reason for none',
    ]);
  });

  it('finds an accepted rollback that never began, once the target has nothing left to do', () => {
    expect(found([worse()], { idle: false })).toEqual([]);
    expect(found([worse()])).toEqual(['the target accepted its rollback, and none began']);
  });

  it('finds a second rollback, and one of another revision', () => {
    const twice = [RELEASED, rollback(), rollback(2_000, 'new', 'rollback-3')];
    expect(found([worse()], { works: twice })).toEqual(['the target rolled back for it more than once']);
    expect(found([worse()], { works: [RELEASED, rollback(1_002, 'other')] })).toEqual([
      'it guards revision new, and its rollback left another one',
    ]);
  });

  it('finds a rollback by a guard that had not found its release worse', () => {
    expect(found([guard({ verdict: 'replaced' }, 1_000)], { works: [RELEASED, rollback()] })).toEqual([
      'it ended as replaced, and the target rolled back for it',
    ]);
  });

  it('attributes the rollback to the one of its guards that asked for it', () => {
    const ended = guard({ verdict: 'preempted' }, 500);
    const ignored = worse(WORSE, {
      answer: 'ignored, release-2 has begun since',
      activities: [activity('rollBackTarget', {}, 1_001, { answer: { disposition: 'ignored' } })],
    });
    const again = worse(WORSE, { since: 900, revisionId: 'copy' });
    const works = [RELEASED, rollback(1_002, 'copy')];
    for (const before of [ended, ignored]) expect(found([before, again], { works })).toEqual([]);
    expect(found([ended, ended], { works: [RELEASED, rollback()] })).toHaveLength(2);
  });

  it('allows the rollback that a guard asked for before it began again', () => {
    const nothing = workFact('rollback-2', { kind: 'rollback', startedAt: 900 });
    const works = [RELEASED, nothing, rollback(1_002, 'new', 'rollback-3')];
    const again = (since: number) => guard({ verdict: 'preempted' }, 1_002, { since });
    expect(found([worse(), again(950)], { works })).toEqual([]);
    expect(found([worse(), again(850)], { works })).toHaveLength(1);
  });

  it('finds a rollback after a release has changed what serves, and allows one from a release that waits', () => {
    const waiting = workFact('release-2', { startedAt: 1_001 });
    const changing = { ...waiting, activities: [activity('patchDeployment', {}, 1_001)] };
    expect(found([worse()], { works: [RELEASED, waiting, rollback()] })).toEqual([]);
    expect(found([worse()], { works: [RELEASED, changing, rollback()] })).toEqual([
      'the target rolled back for it after t/release-2 had changed what serves',
    ]);
    // The release sent its PATCH before it was told to make way for an accepted rollback.
    const said = [
      { kind: 'rollback', at: 1_000, requestId: 'guard-release-1-t', to: null, leaves: 'new' },
    ] as const;
    expect(found([worse()], { works: [RELEASED, changing, rollback()], said })).toEqual([]);
  });

  it('finds a guard that its target ended though nothing changed what serves', () => {
    const preempted = [guard({ verdict: 'preempted' }, 1_000, { preemptedAt: 1_000 })];
    const rejected = workFact('release-2', { startedAt: 900 });
    expect(found(preempted, { works: [RELEASED, rejected] })).toEqual([
      'the target ended it, and nothing was about to change what serves',
    ]);
    // The target ends the guard and requests the rollback's start at the same time.
    const persons = workFact('rollback-2', { kind: 'rollback', startedAt: 1_010 });
    for (const work of [{ ...rejected, announcesChange: true }, persons])
      expect(found(preempted, { works: [RELEASED, work] })).toEqual([]);
    expect(found(preempted, { works: [RELEASED, { ...persons, startedAt: 70_000 }] })).toHaveLength(1);
  });

  describe('that its target ended', () => {
    const ended = guard({ verdict: 'preempted' }, 1_000, { preemptedAt: 1_000 });
    /** The release that ended it, which failed and left `new` serving at 2,000. */
    const failing = (changes: Partial<ReleaseResult> = {}): WorkFact =>
      workFact(
        'release-2',
        { startedAt: 900, announcesChange: true },
        { servingRevisionId: 'new', endedAt: new Date(2_000).toISOString(), ...changes },
      );
    const facts = (work: WorkFact): Partial<TargetFacts> => ({
      works: [RELEASED, work],
      unguarded: [work.workflowId],
    });

    it('finds that the guard did not begin again although its revision still serves', () => {
      expect(found([ended], facts(failing()))).toEqual([
        'the target ended it for nothing: it still served after t/release-2, and it did not begin again',
      ]);
      const copy = { revisionId: 'copy', copyOf: 'new', verified: true, at: '' };
      const copied = failing({ servingRevisionId: 'copy', knownRevisions: [copy] });
      expect(found([ended], facts(copied))).toHaveLength(1);
    });

    it('allows one that began again, one whose revision is gone, and an end that the target has not seen', () => {
      const again = guard({ verdict: 'passed' }, 2_000 + HOUR_MS, { since: 2_000 });
      expect(found([ended, again], facts(failing()))).toEqual([]);
      expect(found([ended], facts(failing({ servingRevisionId: 'newer' })))).toEqual([]);
      expect(found([ended], { works: [RELEASED, failing()] })).toEqual([]);
    });

    it('allows what a person decided', () => {
      const bos = { requestId: 'q', to: 'new', requestedBy: { who: 'bo', from: 'cli' } };
      const redeploy = { step: 'redeploy', status: 'done', restoring: true, at: '', attempts: 1 } as never;
      expect(found([ended], facts(failing({ preemptedBy: bos, steps: [redeploy] })))).toEqual([]);
      expect(found([ended], facts(failing({ preemptedBy: bos })))).toHaveLength(1);
      const canceled = guard({ verdict: 'canceled' }, 1_000, { preemptedAt: 1_000 });
      expect(found([canceled], facts(failing()))).toEqual([]);
      const said = [{ kind: 'retired', at: 1_500 }] as const;
      expect(found([ended], { ...facts(failing()), said })).toEqual([]);
      const its = {
        kind: 'rollback',
        at: 50,
        requestId: 'guard-release-1-t',
        to: null,
        leaves: 'new',
      } as const;
      expect(found([ended], { ...facts(failing()), said: [its] })).toEqual([]);
    });
  });
});
