import { describe, expect, it } from 'vitest';

import { type Planned, planPromotions } from '../../../src/domain/promotion/plan.ts';
import { scheduleTimes } from '../../../src/domain/schedule/schedule.ts';
import { A, B, HOLD, seen } from './targetSeen.ts';

const BERLIN = 'Europe/Berlin';
const HOUR_MS = 3_600_000;

function times(cron: string, from: string, to: string): string[] {
  return scheduleTimes({ cron, timeZone: BERLIN }, Date.parse(from), Date.parse(to)).map((time) =>
    new Date(time).toISOString().slice(0, 16),
  );
}

describe('the times of a schedule', () => {
  it('are those of its time zone, also across changes of its clocks', () => {
    expect(times('0 10 * * 1-5', '2026-10-23T00:00Z', '2026-10-27T00:00Z')).toEqual([
      '2026-10-23T08:00',
      '2026-10-26T09:00',
    ]);
  });

  it('are skipped with the skipped hour, and follow the server in a repeated hour', () => {
    expect(times('30 2 * * *', '2026-03-28T00:00Z', '2026-03-31T00:00Z')).toEqual([
      '2026-03-28T01:30',
      '2026-03-30T00:30',
    ]);
    expect(times('30 2 * * *', '2026-10-25T00:00Z', '2026-10-26T00:00Z')).toEqual(['2026-10-25T01:30']);
  });

  it('match both the day of the month and the day of the week', () => {
    expect(times('0 12 13 * FRI', '2026-01-01T00:00Z', '2026-12-31T00:00Z')).toEqual([
      '2026-02-13T11:00',
      '2026-03-13T11:00',
      '2026-11-13T11:00',
    ]);
  });

  it('of an interval are counted from 1970', () => {
    const every = scheduleTimes({ everyMs: 6 * HOUR_MS, timeZone: 'UTC' }, HOUR_MS, 13 * HOUR_MS);
    expect(every).toEqual([6 * HOUR_MS, 12 * HOUR_MS]);
  });
});

function promotion(
  name: string,
  from: string,
  to: string,
  cron: string,
  changes: Partial<Planned['request']> = {},
): Planned {
  return {
    request: { name, soakMs: 24 * HOUR_MS, bakeMs: 0, freezes: [], ...changes },
    from,
    to,
    downstream: [],
    schedule: { cron, timeZone: 'UTC', jitterMs: 0, overlap: 'skip', catchUpMs: 60_000 },
    paused: null,
    judge: null,
  };
}

const STAGING = seen('staging', B, { verifiedAt: '2026-11-16T00:00:00.000Z' });
const CANARY = seen('canary', A);

/** The week's plan from Monday, as lines. */
function week(promotions: readonly Planned[], canary = CANARY): string[] {
  const from = Date.parse('2026-11-16T00:00Z');
  const byName = new Map([STAGING, canary, seen('production', A)].map((one) => [one.name, one]));
  return planPromotions(promotions, byName, from, from + 7 * 24 * HOUR_MS).flatMap(({ name, decisions }) =>
    decisions.map(({ at, what }) => `${new Date(at).toISOString().slice(5, 16)} ${name} ${what}`),
  );
}

describe('a plan', () => {
  it('shows that a judge decides, and what follows if it is inconclusive', () => {
    const one = { ...promotion('one', 'staging', 'canary', '0 12 17 * *'), judge: 'ask' } as const;
    expect(week([one])[1]).toBe(
      '11-17T12:00 one is judged against what serves on canary; if that is inconclusive, a person is asked',
    );
  });

  it('follows a chain: a release on one target soaks there before it continues', () => {
    expect(
      week([
        promotion('one', 'staging', 'canary', '0 12 16,17 * *'),
        promotion('two', 'canary', 'production', '0 18 * * 1-3'),
      ]),
    ).toEqual([
      '11-16T12:00 one begins with sha256:bbbbbbbbbbbb',
      '11-17T00:00 one has soaked for 24h00m',
      '11-17T00:00 one released on canary',
      '11-16T18:00 two nothing to do: "production" runs sha256:aaaaaaaaaaaa already',
      '11-17T12:00 one nothing to do: "canary" runs sha256:bbbbbbbbbbbb already',
      '11-17T18:00 two begins with sha256:bbbbbbbbbbbb',
      '11-18T00:00 two has soaked for 24h00m',
      '11-18T00:00 two released on production',
      '11-18T18:00 two nothing to do: "production" runs sha256:bbbbbbbbbbbb already',
    ]);
  });

  it('waits for the end of a freeze, bakes, and skips the times meanwhile', () => {
    const quiet = {
      name: 'quiet',
      timeZone: 'UTC',
      from: 'Tue 00:00',
      until: 'Wed 06:00',
      then: 'wait',
    } as const;
    const changes = { freezes: [quiet], bakeMs: 12 * HOUR_MS };
    const planned = promotion('one', 'staging', 'canary', '0 12 16-18 * *', changes);
    expect(week([planned])).toEqual([
      '11-16T12:00 one begins with sha256:bbbbbbbbbbbb',
      '11-17T00:00 one has soaked for 24h00m',
      '11-17T00:00 one waits: frozen by "quiet"',
      '11-18T06:00 one released on canary',
      '11-18T18:00 one has baked for 12h00m',
      '11-17T12:00 one is left out: the promotion of an earlier time still runs',
      '11-18T12:00 one is left out: the promotion of an earlier time still runs',
    ]);
    const buffered = { ...planned, schedule: { ...planned.schedule, overlap: 'buffer_one' } as const };
    expect(week([buffered])).toContain(
      '11-17T12:00 one begins after the promotion of an earlier time, unless another one waits for that',
    );
  });

  it('shows why a time leads to no release', () => {
    const planned = (changes: Partial<Planned['request']> = {}) =>
      promotion('one', 'staging', 'canary', '0 12 16 * *', changes);
    const held = week([planned()], { ...CANARY, hold: HOLD });
    expect(held.join()).toContain('rejected: promotions that lead to "canary" are stopped');
    const paused = week([{ ...planned(), paused: 'bo: incident' }]);
    expect(paused.join()).toContain('the schedule is paused (bo: incident)');
    const window = { name: 'always', timeZone: 'UTC', from: '2020-01-01', until: '2999-01-01' };
    const frozen = week([planned({ freezes: [{ ...window, then: 'refuse' }] })]);
    expect(frozen.at(-1)).toContain('ends aborted: frozen by "always"');
    const approval = { required: 2, withinMs: HOUR_MS, otherwise: 'approve' } as const;
    const waiting = week([planned({ approval })]);
    expect(waiting.join()).toContain('waits for 2 to approve, at most 1h00m; then it goes on');
  });
});
