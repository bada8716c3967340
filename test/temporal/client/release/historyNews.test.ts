import { setImmediate } from 'node:timers/promises';

import { expect, it } from 'vitest';

import type { TemporalConnection } from '../../../../src/temporal/client/connection.ts';
import { HistoryNews } from '../../../../src/temporal/client/release/historyNews.ts';

it('reads the whole histories of two workflows at a time, and then waits for the news of all', async () => {
  const asked: { isFirst: boolean; answer: (token: Uint8Array) => void }[] = [];
  const client = {
    withDeadline: <T>(_until: number, call: () => T): T => call(),
    workflowService: {
      getWorkflowExecutionHistory: ({ nextPageToken }: { nextPageToken: Uint8Array | null }) =>
        new Promise((resolve) => {
          const answer = (token: Uint8Array): void => resolve({ nextPageToken: token });
          asked.push({ isFirst: nextPageToken === null, answer });
        }),
    },
  };
  const temporal = { client, settings: { namespace: 'default' } } as unknown as TemporalConnection;
  const news = ['a', 'b', 'c', 'd'].map((id) => new HistoryNews(temporal, id, 0));

  const first = news.map((each) => each.wait(60_000, undefined));
  await setImmediate();
  expect(asked).toHaveLength(2);
  for (let turn = 0; turn < 4; turn++) {
    asked[turn]?.answer(Uint8Array.of(1));
    await setImmediate();
  }
  await Promise.all(first);
  expect(asked.map(({ isFirst }) => isFirst)).toEqual([true, true, true, true]);

  const next = news.map((each) => each.wait(60_000, undefined));
  await setImmediate();
  expect(asked.slice(4).map(({ isFirst }) => isFirst)).toEqual([false, false, false, false]);
  for (const { answer } of asked.slice(4)) answer(Uint8Array.of());
  await Promise.all(next);
});

it('ends soon if the call fails, so that the caller finds out why', async () => {
  const client = {
    withDeadline: <T>(_until: number, call: () => T): T => call(),
    workflowService: { getWorkflowExecutionHistory: () => Promise.reject(new Error('unavailable')) },
  };
  const temporal = { client, settings: { namespace: 'default' } } as unknown as TemporalConnection;
  await new HistoryNews(temporal, 'a', 0).wait(60_000, undefined);
});
