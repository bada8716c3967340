import { expect, it } from 'vitest';

import { keptMessages } from '../../../src/temporal/history/keptTarget.ts';
import type { AuditedHistory } from '../../../src/temporal/history/readFacts.ts';
import { signal } from './events.ts';

const AT = 1_763_726_400;

it('messages after a worker’s last task wait for the next one, with any content', () => {
  expect(
    messagesOf([
      signal('hold', { who: 'ada' }),
      { workflowTaskCompletedEventAttributes: {} },
      signal('rollback', { who: 'bob', reason: 'it lies' }),
      { workflowTaskScheduledEventAttributes: {} },
      signal('hold', 'garbage'),
      signal('unhold', { who: 42, reason: null }),
    ]),
  ).toEqual([
    { ...said('rollback'), who: 'bob', reason: 'it lies' },
    { ...said('hold'), who: null, reason: null },
    { ...said('unhold'), who: null, reason: null },
  ]);
});

it('nothing waits after a worker has processed it', () => {
  expect(messagesOf([signal('hold', {}), { workflowTaskCompletedEventAttributes: {} }])).toEqual([]);
});

function messagesOf(events: readonly object[]): readonly unknown[] {
  const timed = events.map((event) => ({ eventTime: { seconds: AT, nanos: 0 }, ...event }));
  const history = { events: timed } as unknown as AuditedHistory['history'];
  return keptMessages({ workflowId: 'target:t', history });
}

function said(message: string): object {
  return { workflowId: 'target:t', message, at: new Date(AT * 1_000).toISOString() };
}
