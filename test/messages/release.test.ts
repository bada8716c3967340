import { describe, expect, it } from 'vitest';

import { readPreemption } from '../../src/messages/release.ts';

describe('what a target tells a running release', () => {
  it('is the rollback that it makes way for', () => {
    const rollback = {
      requestId: 'id',
      to: 'revision',
      requestedBy: { who: 'ada', from: 'cli', reason: 'x' },
    };
    expect(readPreemption(rollback)).toEqual(rollback);
    const overtaken = { ...rollback, overtaker: 'late' };
    expect(readPreemption(overtaken)).toEqual(overtaken);
  });

  it('is refused without an object that says who asked', () => {
    for (const requestedBy of [undefined, null, 'ada', 7, []]) {
      expect(readPreemption({ requestId: 'id', requestedBy })).toBe('"requestedBy" is not an object');
    }
    expect(readPreemption({ requestedBy: { who: 7 } })).toBe('"who" is not text');
  });

  it.each(['rollback', 7, true, [], [{}], () => undefined])('is refused as anything else: %j', (garbage) => {
    expect(readPreemption(garbage)).toBe('the message is not an object');
  });
});
