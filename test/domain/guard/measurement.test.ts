import { describe, expect, it } from 'vitest';

import { type GuardMetric, metricProblem } from '../../../src/domain/guard/guardPolicy.ts';
import {
  type Breach,
  breachText,
  EMPTY_TALLY,
  judgeRound,
  measuredText,
  type Measurement,
  MISSED_MAX,
} from '../../../src/domain/guard/measurement.ts';

const SOURCE = { kind: 'http', url: 'http://metrics.test/', path: 'value' } as const;

function metric(limits: Omit<GuardMetric, 'name' | 'source'>): GuardMetric {
  return { name: 'errors', source: SOURCE, ...limits };
}

function judged(
  limits: Omit<GuardMetric, 'name' | 'source'>,
  value: number | null,
  before: number | null = null,
): Breach | null {
  const policy = { metrics: [metric(limits)], noData: 'continue' } as const;
  return judgeRound(policy, [{ metric: 'errors', value, before }], EMPTY_TALLY, false).breach;
}

describe('a metric is worse', () => {
  it.each([
    [{ max: 0.05 }, 0.12, null, 'errors 0.12 > 0.05'],
    [{ min: 0.8 }, 0.5, null, 'errors 0.5 < 0.8'],
    [
      { risesBy: { by: 0.02, isRelative: false } },
      0.05,
      0.02,
      'errors 0.05 > 0.04 (0.02 in the hour before)',
    ],
    [{ risesBy: { by: 0.5, isRelative: true } }, 3.1, 2, 'errors 3.1 > 3 (2 in the hour before)'],
    [{ fallsBy: { by: 0.1, isRelative: true } }, 0.7, 0.8, 'errors 0.7 < 0.72 (0.8 in the hour before)'],
    [{ fallsBy: { by: 1, isRelative: false } }, -3, -1, 'errors -3 < -2 (-1 in the hour before)'],
    [{ max: 0, min: -1 }, 1 / 3, null, 'errors 0.3333 > 0'],
  ])('by %j at %d after %d: %s', (limits, value, before, text) => {
    const breach = judged(limits, value, before);
    expect(breach && breachText(breach)).toBe(text);
  });

  it.each([
    [{ max: 0.05 }, 0.05, null],
    [{ min: 0.8 }, 0.8, null],
    [{ risesBy: { by: 0.5, isRelative: true } }, 3, 2],
    [{ risesBy: { by: 0, isRelative: false } }, 2, 2],
    [{ risesBy: { by: 0, isRelative: false } }, 1_000, null],
    [{ fallsBy: { by: 0.1, isRelative: true } }, 0, 0],
    [{ max: 0.05, min: 0 }, null, null],
  ])('not by %j at %d after %d', (limits, value, before) => {
    expect(judged(limits, value, before)).toBeNull();
  });
});

describe('a metric without data', () => {
  const policy = { metrics: [metric({ max: 1 })], noData: 'rollback' } as const;
  const missing: Measurement = { metric: 'errors', value: null, before: null, missing: 'no result' };

  function rounds(
    measured: readonly Measurement[],
    noData: 'continue' | 'rollback' = 'rollback',
    ends = false,
  ): Breach | null {
    let tally = EMPTY_TALLY;
    let breach: Breach | null = null;
    for (const [index, measurement] of measured.entries()) {
      const isLast = ends && index === measured.length - 1;
      ({ breach, tally } = judgeRound({ ...policy, noData }, [measurement], tally, isLast));
    }
    return breach;
  }

  const often = Array.from({ length: MISSED_MAX }, () => missing);
  const value: Measurement = { metric: 'errors', value: 0, before: null };
  const early: Measurement = { ...missing, isEarly: true };

  it('is never worse by the default policy', () => {
    expect(rounds([...often, ...often], 'continue', true)).toBeNull();
  });

  it('is worse with noData: rollback after five measurements in a row, and not before', () => {
    expect(rounds(often.slice(1))).toBeNull();
    expect(rounds(often)).toMatchObject({ kind: 'no_data', metric: 'errors' });
    expect(breachText(rounds(often)!)).toBe('errors has no data');
    expect(rounds([...often.slice(1), value, ...often.slice(1)])).toBeNull();
  });

  it('is worse at the end of the guard if it never had any, and not if one answer was lost', () => {
    expect(rounds([missing, missing], 'rollback', true)).toMatchObject({ kind: 'no_data' });
    expect(rounds([value, missing], 'rollback', true)).toBeNull();
  });

  it('waits for enough scores until the guard ends', () => {
    expect(rounds(often.map(() => early))).toBeNull();
    expect(
      rounds(
        often.map(() => early),
        'rollback',
        true,
      ),
    ).toMatchObject({ kind: 'no_data' });
  });

  it('does not hide another that is worse', () => {
    const metrics = [metric({ max: 1 }), { ...metric({ max: 1 }), name: 'cost' }];
    const measured = [missing, { metric: 'cost', value: 2, before: null }];
    const { breach } = judgeRound({ metrics, noData: 'continue' }, measured, EMPTY_TALLY, false);
    expect(breach).toMatchObject({ metric: 'cost', kind: 'above_max' });
  });

  it('says why in what was measured last', () => {
    expect(measuredText([missing, { metric: 'cost', value: 0.25, before: 0.2 }])).toBe(
      'errors has no data: no result, cost 0.25 (0.2 in the hour before)',
    );
  });
});

describe('a metric has to', () => {
  it.each([
    [{}, 'max'],
    [{ min: 2, max: 1 }, 'min'],
    [{ risesBy: { by: 1, isRelative: false }, url: 'http://metrics.test/' }, 'url'],
  ])('be one that can be worse: %j', (limits, field) => {
    expect(metricProblem(limits)?.field).toBe(field);
  });
});
