import { describe, expect, it } from 'vitest';

import { StreamMode } from '../../src/runApi/run.ts';
import {
  ErrorEvent,
  EVENT_OF_MODE,
  EventName,
  FeedbackEvent,
  MessagesEvent,
  MetadataEvent,
  parseEventName,
} from '../../src/runApi/stream.ts';
import { expectAccepted, placesOf } from '../checking.ts';

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

  it('begins with the run and its attempt', () => {
    expectAccepted(MetadataEvent, { run_id: 'r', attempt: 1, more: 1 });
    expectAccepted(MetadataEvent, { run_id: 'r' });
    expect(placesOf(MetadataEvent, { attempt: 0 })).toEqual(['body.run_id', 'body.attempt']);
  });

  it('validates feedback links, message chunks and errors', () => {
    expectAccepted(FeedbackEvent, { score: 'http://trace.example/api/v1/feedback/tokens/1' });
    expectAccepted(MessagesEvent, [{ content: 'Hel', type: 'AIMessageChunk' }, { graph_node: 'agent' }]);
    expect(placesOf(MessagesEvent, [{ content: 'x' }])).not.toEqual([]);
    expectAccepted(ErrorEvent, { error: 'TypeError', message: 'x' });
    expect(placesOf(ErrorEvent, {})).toEqual(['body.error']);
  });
});
