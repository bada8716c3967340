import { describe, expect, it } from 'vitest';

import { makeRoom, type PreviewPhase } from '../../../src/domain/preview/preview.ts';
import { previewsOf } from '../../../src/domain/preview/previewName.ts';
import { request } from '../target/targets.ts';

/** A preview that was pushed to on a day of January. */
function preview(day: number, phase: PreviewPhase = 'idle') {
  return {
    day,
    phase,
    workflowId: `preview-${day}`,
    renewedAt: new Date(Date.UTC(2026, 0, day)).toISOString(),
  };
}

/** What makes room for a preview that is not listed. */
function roomFor(previews: readonly ReturnType<typeof preview>[], max: number) {
  return makeRoom(previews, 'preview-new', max);
}

function days({ remove }: ReturnType<typeof makeRoom<ReturnType<typeof preview>>>): number[] {
  return remove.map(({ day }) => day);
}

describe('the limit of previews', () => {
  it('removes none below it', () => {
    expect(roomFor([preview(1), preview(2)], 3)).toEqual({ remove: [], short: 0 });
  });

  it('removes the idle one with the oldest push', () => {
    expect(days(roomFor([preview(3), preview(1), preview(2)], 3))).toEqual([1]);
  });

  it('removes all that exceed it after it was lowered', () => {
    expect(days(roomFor([preview(3), preview(1), preview(2)], 1))).toEqual([1, 2, 3]);
  });

  it('never removes one with a running release, and reports how many are missing', () => {
    const room = roomFor([preview(1, 'releasing'), preview(2), preview(3, 'releasing')], 2);
    expect(days(room)).toEqual([2]);
    expect(room.short).toBe(1);
  });

  it('removes none for a push to a preview that counts already', () => {
    expect(makeRoom([preview(1), preview(2)], 'preview-2', 2)).toEqual({ remove: [], short: 0 });
  });

  it('makes room for a preview that is being removed, because the push makes it anew', () => {
    const all = [preview(1), preview(2), preview(3, 'removing')];
    expect(days(makeRoom(all, 'preview-3', 2))).toEqual([1]);
  });

  it('ignores previews that are being removed', () => {
    expect(roomFor([preview(1, 'removing'), preview(2, 'removal_failed'), preview(3)], 2)).toEqual({
      remove: [],
      short: 0,
    });
  });

  it('counts no preview of another file or control plane', () => {
    const target = { ...request('any').target, controlPlane: 'http://control.test', deployment: 'greeter-3' };
    const listed = [
      { pr: 1, workflowId: 'preview:http://control.test:greeter-1' },
      { pr: 1, workflowId: 'preview:http://control.test:another-1' },
      { pr: 2, workflowId: 'preview:http://another.test:greeter-2' },
    ];
    expect(previewsOf(listed, target, 'greeter-{pr}')).toEqual([listed[0]]);
  });
});
