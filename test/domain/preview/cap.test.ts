import { describe, expect, it } from 'vitest';

import { makeRoom } from '../../../src/domain/preview/cap.ts';
import type { PreviewPhase } from '../../../src/domain/preview/preview.ts';

/** A preview that was pushed to on a day of January. */
function preview(day: number, phase: PreviewPhase = 'idle') {
  return { day, phase, renewedAt: new Date(Date.UTC(2026, 0, day)).toISOString() };
}

function days({ remove }: ReturnType<typeof makeRoom<ReturnType<typeof preview>>>): number[] {
  return remove.map(({ day }) => day);
}

describe('the limit of previews', () => {
  it('removes none below it', () => {
    expect(makeRoom([preview(1), preview(2)], 3)).toEqual({ remove: [], short: 0 });
  });

  it('removes the idle one with the oldest push', () => {
    expect(days(makeRoom([preview(3), preview(1), preview(2)], 3))).toEqual([1]);
  });

  it('removes all that exceed it after it was lowered', () => {
    expect(days(makeRoom([preview(3), preview(1), preview(2)], 1))).toEqual([1, 2, 3]);
  });

  it('never removes one with a running release, and reports how many are missing', () => {
    const room = makeRoom([preview(1, 'releasing'), preview(2), preview(3, 'releasing')], 2);
    expect(days(room)).toEqual([2]);
    expect(room.short).toBe(1);
  });

  it('ignores previews that are being removed', () => {
    expect(makeRoom([preview(1, 'removing'), preview(2, 'removal_failed'), preview(3)], 2)).toEqual({
      remove: [],
      short: 0,
    });
  });
});
