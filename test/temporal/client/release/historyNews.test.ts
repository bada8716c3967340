import { setImmediate, setTimeout } from 'node:timers/promises';

import { expect, it, vi } from 'vitest';

import type { TemporalConnection } from '../../../../src/temporal/client/connection.ts';
import { HistoryNews } from '../../../../src/temporal/client/release/historyNews.ts';
import { answeringTemporal } from '../answeringTemporal.ts';

interface Asked {
  /** Whether only the workflow's last event is asked for. */
  readonly isForEnd: boolean;
  readonly isFirst: boolean;
  readonly answer: (token: Uint8Array) => void;
  readonly timeOut: () => void;
}

/** A Temporal that holds each read until the test answers it. */
function held(): { readonly temporal: TemporalConnection; readonly asked: readonly Asked[] } {
  const asked: Asked[] = [];
  const getWorkflowExecutionHistory = (request: { nextPageToken?: Uint8Array | null }) =>
    new Promise((resolve, reject) => {
      asked.push({
        isForEnd: 'historyEventFilterType' in request,
        isFirst: request.nextPageToken === null,
        answer: (nextPageToken) => resolve({ nextPageToken }),
        timeOut: () => reject(new Error('deadline exceeded')),
      });
    });
  return { temporal: temporalWith(getWorkflowExecutionHistory), asked };
}

function temporalWith(getWorkflowExecutionHistory: unknown): TemporalConnection {
  return answeringTemporal({ workflow: {}, workflowService: { getWorkflowExecutionHistory } });
}

it('asks within the spacing only for the end, however many events come', async () => {
  const { temporal, asked } = held();
  const news = new HistoryNews(temporal, 'a', 20);

  const moved = news.wait(60_000, undefined);
  await setTimeout(20);
  asked[0]?.timeOut();
  await vi.waitFor(() => expect(asked).toHaveLength(2), 10_000);
  asked[1]?.answer(Uint8Array.of(1));
  await moved;

  const ended = news.wait(60_000, undefined);
  await setImmediate();
  asked[2]?.answer(Uint8Array.of());
  await ended;
  expect(asked.map(({ isForEnd }) => isForEnd)).toEqual([true, false, true]);
});

it('reads the whole histories of two workflows at a time, and then waits for the news of all', async () => {
  const { temporal, asked } = held();
  const all = ['a', 'b', 'c', 'd'].map((id) => new HistoryNews(temporal, id, 0));
  const wait = async (atOnce: number) => {
    const from = asked.length;
    const waits = all.map((news) => news.wait(60_000, undefined));
    await setImmediate();
    for (const { timeOut } of asked.slice(from)) timeOut();
    const reads = () => asked.slice(from).filter(({ isForEnd }) => !isForEnd);
    await vi.waitFor(() => expect(reads()).toHaveLength(atOnce), 10_000);
    return { waits, reads };
  };

  const first = await wait(2);
  for (let turn = 0; turn < 4; turn++) {
    first.reads()[turn]?.answer(Uint8Array.of(1));
    await setImmediate();
  }
  await Promise.all(first.waits);
  expect(first.reads().map(({ isFirst }) => isFirst)).toEqual([true, true, true, true]);

  const next = await wait(4);
  expect(next.reads().map(({ isFirst }) => isFirst)).toEqual([false, false, false, false]);
  for (const { answer } of next.reads()) answer(Uint8Array.of());
  await Promise.all(next.waits);
});

it('ends soon if the call fails, so that the caller finds out why', async () => {
  const temporal = temporalWith(() => Promise.reject(new Error('unavailable')));
  await new HistoryNews(temporal, 'a', 0).wait(60_000, undefined);
});
