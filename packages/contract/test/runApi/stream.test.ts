import { describe, expect, it } from 'vitest';

import { StreamMode } from '../../src/runApi/run.ts';
import { EVENT_OF_MODE, EventName, parseEventName } from '../../src/runApi/stream.ts';
import { expectAccepted } from '../checking.ts';

describe('Contract 001, Events', () => {
  it('has an event kind for each stream mode, with the same name except for messages-tuple', () => {
    expect(Object.keys(EVENT_OF_MODE)).toEqual(StreamMode.options);
    for (const mode of StreamMode.options) {
      expect(EVENT_OF_MODE[mode]).toBe(mode === 'messages-tuple' ? 'messages' : mode);
      expectAccepted(EventName, EVENT_OF_MODE[mode]);
    }
  });

  it.each([
    ['updates', [], 'updates'],
    ['updates', ['sub:1'], 'updates|sub:1'],
    ['values', ['sub:1', 'deep:2'], 'values|sub:1|deep:2'],
  ] as const)('reads %s of %j from %s', (name, namespace, event) => {
    expect(parseEventName(event)).toEqual({ name, namespace });
  });
});
