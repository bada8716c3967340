import { describe, expect, it } from 'vitest';

import { restoreMs, spentTime } from '../../../src/domain/metrics/releaseTimes.ts';
import type { StepRecord } from '../../../src/domain/release/release.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const at = (seconds: number): string => new Date(START + seconds * 1_000).toISOString();

function step(
  name: StepRecord['step'],
  from: number,
  to: number,
  { restoring = false, status = 'done' }: Partial<StepRecord> = {},
): StepRecord {
  return { step: name, restoring, status, startedAt: at(from), endedAt: at(to) };
}

describe('the time of a release', () => {
  it('is split without a rest: what is nobody else’s is the machine’s', () => {
    const steps = [
      step('upload', 0, 5),
      step('deployed', 5, 65),
      step('serving', 65, 66),
      step('soak', 70, 370),
    ];
    const waited = { approval: 1_000_000, freeze: 20_000, resume: 5_000 };
    const spent = spentTime(at(0), steps, waited, START + 1_500_000);
    expect(spent).toEqual({
      machine: 114_000,
      control_plane: 61_000,
      people: 1_005_000,
      freeze: 20_000,
      soak: 300_000,
    });
    expect(Object.values<number>({ ...spent }).reduce((sum, ms) => sum + ms, 0)).toBe(1_500_000);
  });
});

describe('the time to roll back', () => {
  const restored = [
    step('redeploy', 101, 102, { restoring: true }),
    step('deployed', 102, 108, { restoring: true }),
    step('serving', 108, 110, { restoring: true }),
    step('check', 110, 130, { restoring: true }),
  ];
  const release = { kind: 'release', startedAt: at(0) } as const;

  it('of a release goes from what failed to what serves again, without the checks that follow', () => {
    const failed = step('check', 60, 100, { status: 'failed' });
    expect(restoreMs(release, [step('patch', 1, 2), failed, ...restored])).toBe(10_000);
  });

  it('goes from the restore itself if no step failed', () => {
    expect(restoreMs(release, [step('patch', 1, 2), ...restored])).toBe(9_000);
  });

  it('goes on until the last revision serves, if the first one that was restored did not stay', () => {
    const again = [
      step('redeploy', 130, 131, { restoring: true }),
      step('serving', 131, 140, { restoring: true }),
    ];
    const failed = step('check', 60, 100, { status: 'failed' });
    expect(restoreMs(release, [failed, ...restored, ...again])).toBe(40_000);
  });

  it('of a rollback goes from its start', () => {
    expect(restoreMs({ kind: 'rollback', startedAt: at(90) }, restored)).toBe(20_000);
  });

  it('is none where nothing was restored, or what was restored does not serve', () => {
    expect(restoreMs(release, [step('serving', 1, 2)])).toBeUndefined();
    const failed = step('serving', 102, 108, { restoring: true, status: 'failed' });
    expect(restoreMs(release, [step('redeploy', 101, 102, { restoring: true }), failed])).toBeUndefined();
  });
});
