import { describe, expect, it } from 'vitest';

import { readPreemption } from '../../src/messages/release.ts';

describe('a preempting message to a running release', () => {
  it('has the rollback to make way for', () => {
    const rollback = {
      requestId: 'id',
      to: 'revision',
      requestedBy: { who: 'ada', from: 'cli', reason: 'x' },
    };
    expect(readPreemption(rollback)).toEqual(rollback);
    const overtaken = { ...rollback, overtaker: 'late' };
    expect(readPreemption(overtaken)).toEqual(overtaken);
  });

  it('is rejected without a requester', () => {
    for (const requestedBy of [undefined, null, 'ada', 7, []]) {
      expect(readPreemption({ requestId: 'id', requestedBy })).toBe('"requestedBy" is not an object');
    }
    expect(readPreemption({ requestedBy: { who: 7 } })).toBe('"who" is not text');
  });

  it.each(['rollback', 7, true, [], [{}], () => undefined])('is rejected as anything else: %j', (garbage) => {
    expect(readPreemption(garbage)).toBe('the message is not an object');
  });
});
