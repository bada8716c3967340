import { expect, it } from 'vitest';

import type { History } from '../../../src/temporal/history/payloads.ts';
import { readMessages } from '../../../src/temporal/history/readMessages.ts';
import { payloads, signal } from './events.ts';

const AT = 1_763_726_400;
const TARBALL = { kind: 'tarball', digest: 'sha256:x', sizeBytes: 1, store: 'file:///a' };

it('a target’s accepted requests are read over all its runs, in order, each once', () => {
  const queued = { disposition: 'queued', releaseId: 'release-1' };
  const first = [
    ...update('submitRelease', 'one', { artifact: TARBALL }, queued),
    signal('hold', { who: 'ada' }),
    signal('hold', 7),
    ...update('quarantine', 'two', { artifact: 'the beginning' }, 'sha256:x'),
    ...update('rollback', 'three', { to: 'release-1' }, { disposition: 'queued' }),
    ...update('rollback', 'four', {}, { disposition: 'ignored' }),
    ...update('rollback', 'five', { to: 'release-1' }, { disposition: 'ignored' }),
    ...update('rollback', 'six', { guard: 'release-1' }, { disposition: 'ignored' }),
    ...update('retire', 'seven', null, true),
  ];
  const answeredAgain = update('submitRelease', 'one', { artifact: TARBALL }, queued);
  expect(kindsOf(first, answeredAgain)).toEqual([
    ...['queued', 'hold', 'quarantine', 'rollback'],
    ...['rollback refused', 'retired'],
  ]);
});

it('a rollback with a repeated id counts once, even with another content', () => {
  const queued = { disposition: 'queued' };
  const named = { requestId: 'ada-1', to: 'release-1' };
  const again = { requestId: 'ada-1', serving: 'R2' };
  expect(
    kindsOf([
      ...update('rollback', 'one', named, queued),
      ...update('rollback', 'two', again, { disposition: 'joined' }),
      signal('rollback', again),
      signal('rollback', { requestId: 'bo-1' }),
    ]),
  ).toEqual(['rollback', 'rollback']);
});

it('a number that two runs gave belongs to two submissions', () => {
  const queued = { disposition: 'queued', releaseId: 'release-1' };
  const submitted = (id: string): object[] => update('submitRelease', id, { artifact: TARBALL }, queued);
  expect(kindsOf(submitted('one'), submitted('two'))).toEqual(['queued', 'queued']);
});

it('a message that is sent again to a reset run counts once', () => {
  const before = [signal('hold', {})];
  const reset = { workflowTaskFailedEventAttributes: { newRunId: 'again' } };
  const again = [...before, reset, signal('hold', {}), { workflowTaskStartedEventAttributes: {} }];
  expect(
    kindsOf([...before, signal('unhold', {})], [...again, signal('quarantine', { artifact: 'x' })]),
  ).toEqual(['hold', 'unhold', 'quarantine']);
});

it.each(['json/plain', 'binary/encrypted'])(
  'a signal that is no JSON, and says it is %s, is no message',
  (encoding) => {
    const input = { payloads: [{ metadata: { encoding: Buffer.from(encoding) }, data: Buffer.from('{') }] };
    expect(kindsOf([{ workflowExecutionSignaledEventAttributes: { signalName: 'hold', input } }])).toEqual(
      [],
    );
  },
);

/** Each run begins at the same time as the previous one, like a run that was reset. */
function kindsOf(...runs: readonly (readonly object[])[]): string[] {
  const histories = runs.map((events, run) => ({
    events: events.map((event, index) => ({
      eventId: index + 1,
      eventTime: { seconds: AT + index + (index === 0 ? 0 : 100 * run), nanos: 0 },
      ...event,
    })),
  }));
  return readMessages(histories as unknown as History[]).map(({ kind }) => kind);
}

function update(name: string, id: string, message: unknown, answer: unknown): object[] {
  const input = { name, args: payloads(message) };
  const completed = { meta: { updateId: id }, outcome: { success: payloads(answer) } };
  return [
    {
      workflowExecutionUpdateAcceptedEventAttributes: { protocolInstanceId: id, acceptedRequest: { input } },
    },
    { workflowExecutionUpdateCompletedEventAttributes: completed },
  ];
}
