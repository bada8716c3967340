import { describe, expect, it } from 'vitest';

import { daysOf, measureDelivery, type TargetRelease } from '../../../src/domain/delivery/measures.ts';
import { past } from '../target/targets.ts';

const DAY_MS = 86_400_000;
/** Thirty days. */
const PERIOD = { from: Date.parse('2026-01-01T00:00:00Z'), to: Date.parse('2026-01-31T00:00:00Z') };

let made = 0;

/** A release on a day in January that serves afterwards. */
function release(day: number, changes: Partial<TargetRelease> = {}): TargetRelease {
  const releaseId = `release-${++made}`;
  return {
    targetId: 'target:a',
    ...past(releaseId, { endedAt: new Date(Date.UTC(2026, 0, day, 12)).toISOString() }),
    revisionId: `of-${releaseId}`,
    servingRevisionId: `of-${releaseId}`,
    ...changes,
  };
}

/** A person's rollback to a revision. */
function rollback(day: number, to: string, changes: Partial<TargetRelease> = {}): TargetRelease {
  const { endedAt } = release(day);
  return release(day, {
    releaseId: `rollback-${++made}`,
    kind: 'rollback',
    outcome: 'rolled_back',
    revisionId: null,
    servingRevisionId: to,
    restore: { since: new Date(Date.parse(endedAt ?? '') - 60_000).toISOString(), servedAt: endedAt ?? '' },
    ...changes,
  });
}

const measure = (...releases: readonly TargetRelease[]) => measureDelivery(releases, PERIOD);

describe('the four measures', () => {
  it('of no release report too little data, and what is missing', () => {
    expect(measure()).toEqual({
      deploymentFrequency: { state: 'not_enough_data', why: 'No release ended "released".' },
      leadTime: {
        state: 'not_enough_data',
        why: 'No release ended "released" whose commit’s time is known.',
      },
      changeFailureRate: { state: 'not_enough_data', why: 'No release changed what its target serves.' },
      timeToRestore: { state: 'not_enough_data', why: 'No earlier revision was restored.' },
    });
  });

  it('ignore releases that ended outside of the period, or have not ended', () => {
    const running = release(5, { endedAt: null, outcome: 'running' });
    expect(measure(release(0), release(31), rollback(32, 'another'), running)).toEqual(measure());
  });
});

describe('the deployment frequency', () => {
  it('is the number of releases per day', () => {
    const others = [release(3, { outcome: 'failed' }), rollback(3, 'another')];
    const frequency = { state: 'measured', count: 3, perDay: 0.1 };
    expect(measure(release(1), release(2), release(2), ...others).deploymentFrequency).toEqual(frequency);
  });
});

describe('the lead time', () => {
  const after = (hours: number) => ({
    committedAt: new Date(Date.UTC(2026, 0, 2, 12) - hours * 3_600_000).toISOString(),
  });

  it('is the median from the commit to the end of its release, if the commit’s time is known', () => {
    const releases = [release(2, after(1)), release(2, after(2)), release(2, after(9)), release(2)];
    expect(measure(...releases).leadTime).toMatchObject({ count: 3, medianMs: 2 * 3_600_000, unknown: 1 });
  });

  it('of two is between them', () => {
    const medianMs = 1.5 * 3_600_000;
    expect(measure(release(2, after(1)), release(2, after(2))).leadTime).toMatchObject({ medianMs });
  });

  it('is never negative, because clocks differ', () => {
    expect(measure(release(2, after(-1))).leadTime).toMatchObject({ medianMs: 0 });
  });
});

describe('the change failure rate', () => {
  const rateOf = (...releases: readonly TargetRelease[]) => measure(...releases).changeFailureRate;

  it('counts releases that were rolled back or need a person', () => {
    const failed = (['rolled_back', 'rollback_failed', 'errored'] as const).map((outcome) =>
      release(2, { outcome }),
    );
    expect(rateOf(release(1), ...failed)).toEqual({ state: 'measured', count: 4, failed: 3, rate: 0.75 });
  });

  it('ignores releases that changed nothing, or that a person aborted', () => {
    const unchanged = [
      release(2, { outcome: 'failed', revisionId: null }),
      release(2, { outcome: 'errored', revisionId: null, servingRevisionId: null }),
      release(2, { outcome: 'rejected', revisionId: null, servingRevisionId: null }),
      release(2, { outcome: 'aborted' }),
    ];
    expect(rateOf(release(1), ...unchanged)).toMatchObject({ count: 1, failed: 0 });
  });

  it('counts a release that a person rolled back later, also after the period', () => {
    const good = release(1);
    const bad = release(2);
    expect(rateOf(good, bad, rollback(40, good.revisionId ?? ''))).toMatchObject({ count: 2, failed: 1 });
  });

  it('counts the release that a rollback left, not one that was replaced before', () => {
    const [first, second, third] = [release(1), release(2), release(4)];
    const back = rollback(3, first.revisionId ?? '');
    for (const all of [
      [third, back, second, first],
      [first, second, { ...back, endedAt: release(5).endedAt }, third],
    ])
      expect(rateOf(...all)).toMatchObject({ count: 3, failed: 1 });
  });

  it('attributes a second rollback to the release that the first one restored', () => {
    const [first, second, third] = [release(1), release(2), release(3)];
    const back = [rollback(4, second.revisionId ?? ''), rollback(5, first.revisionId ?? '')];
    expect(rateOf(first, second, third, ...back)).toMatchObject({ count: 3, failed: 2 });
  });

  it('counts a release that was restored after a failed one, and rolled back after that', () => {
    const [first, second] = [release(1), release(2)];
    const failed = release(3, { outcome: 'rolled_back', servingRevisionId: 'copy-of-second' });
    expect(rateOf(first, second, failed, rollback(4, first.revisionId ?? ''))).toMatchObject({
      count: 3,
      failed: 2,
    });
  });

  it('separates targets', () => {
    const elsewhere = rollback(3, 'another', { targetId: 'target:b' });
    expect(rateOf(release(1), release(2), elsewhere)).toMatchObject({ count: 2, failed: 0 });
  });

  it('ignores failed rollbacks', () => {
    const good = release(1);
    const missed = rollback(3, good.revisionId ?? '', {
      outcome: 'rollback_failed',
      servingRevisionId: null,
    });
    expect(rateOf(good, release(2), missed)).toMatchObject({ failed: 0 });
  });
});

describe('the time to restore', () => {
  it('is the median over failed releases and rollbacks', () => {
    const first = release(1);
    const restore = { since: '2026-01-02T10:00:00.000Z', servedAt: '2026-01-02T10:03:00.000Z' };
    const failed = release(2, { outcome: 'rolled_back', restore });
    expect(measure(first, failed, rollback(3, first.revisionId ?? '')).timeToRestore).toMatchObject({
      count: 2,
      medianMs: 120_000,
      p90Ms: 168_000,
    });
  });

  it('ignores aborted releases, and restores without known times', () => {
    const restore = { since: '2026-01-02T10:00:00.000Z', servedAt: '2026-01-02T10:03:00.000Z' };
    const releases = [release(2, { outcome: 'aborted', restore }), release(3, { outcome: 'rolled_back' })];
    expect(measure(...releases).timeToRestore.state).toBe('not_enough_data');
  });
});

describe('the days of a period', () => {
  it('are all of them, with the released and the failed', () => {
    const days = daysOf([release(2), release(2), release(3, { outcome: 'rolled_back' })], PERIOD);
    expect(days).toHaveLength(30);
    expect(days[0]).toEqual({ at: PERIOD.from, released: 0, failed: 0 });
    expect(days.slice(1, 3).map(({ released, failed }) => [released, failed])).toEqual([
      [2, 0],
      [0, 1],
    ]);
  });

  it('begin with the first day of the period', () => {
    const days = daysOf([], { from: PERIOD.from + DAY_MS / 2, to: PERIOD.from + 1.5 * DAY_MS });
    expect(days.map(({ at }) => at)).toEqual([PERIOD.from, PERIOD.from + DAY_MS]);
  });
});
