import { setTimeout as sleep } from 'node:timers/promises';

import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import type { ReadContext } from '../../../src/dashboard/live/targetWatch.ts';
import { LIST_SHOWN_MS, TargetWatches } from '../../../src/dashboard/live/targetWatches.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Watches on a Temporal that, once enabled, lists one more target at each request. */
function listing(onAsked: (workflowId: string) => void = () => undefined) {
  const waiting: (() => void)[] = [];
  let lists = 0;
  const client = {
    withDeadline: async (_: number, read: () => Promise<unknown>) => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return read();
    },
    workflow: {
      getHandle: (workflowId: string) => ({
        query: () => {
          onAsked(workflowId);
          return new Promise(() => undefined);
        },
      }),
      async *list() {
        lists += 1;
        for (let index = 1; index <= lists; index++) {
          yield await Promise.resolve({
            workflowId: `target:${index}`,
            typedSearchAttributes: { get: () => undefined },
          });
        }
      },
    },
  };
  const temporal = { client, settings: {} } as unknown as ReadContext['temporal'];
  const watches = new TargetWatches({ temporal, home: '', environment: {} });
  return { watches, answer: () => waiting.splice(0).forEach((go) => go()) };
}

it('opening a page accepts a slightly old list; the search for new targets does not', async () => {
  const { watches, answer } = listing();
  const first = watches.targets();
  answer();
  expect(await first).toHaveLength(1);
  vi.advanceTimersByTime(10_000);
  expect(await watches.targets(LIST_SHOWN_MS)).toHaveLength(1);
  const newest = watches.targets();
  answer();
  expect(await newest).toHaveLength(2);
  vi.advanceTimersByTime(2 * LIST_SHOWN_MS);
  const after = watches.targets(LIST_SHOWN_MS);
  answer();
  expect(await after).toHaveLength(3);
});

it('a server that has just started reads the targets before the first viewer, for a short time', async () => {
  const asked: string[] = [];
  const { watches, answer } = listing((workflowId) => asked.push(workflowId));
  const warming = watches.warm();
  answer();
  await warming;
  answer();
  await vi.advanceTimersByTimeAsync(0);
  expect(asked).toEqual(['target:1']);
  await vi.advanceTimersByTimeAsync(60_000);
  const before = asked.length;
  answer();
  await vi.advanceTimersByTimeAsync(120_000);
  expect(asked.length - before).toBeLessThanOrEqual(1);
});

it('the page of one target waits for it up to a second, also while many are being read', async () => {
  const { watches, answer } = listing();
  for (let list = 0; list < 5; list++) {
    vi.advanceTimersByTime(10_000);
    const listed = watches.targets();
    answer();
    await listed;
  }
  const all = await watches.targets();
  expect(all).toHaveLength(5);
  expect(await watches.snapshots(all)).toHaveLength(5);
  let isShown = false;
  const shown = watches.snapshot('target:5').then(() => (isShown = true));
  // Not a fake timer: longer than the page of all targets waits.
  await sleep(100);
  expect(isShown).toBe(false);
  await shown;
});

it('while Temporal does not answer, pages show the targets that it listed last', async () => {
  const { watches, answer } = listing();
  const first = watches.targets();
  answer();
  await first;
  vi.advanceTimersByTime(2 * LIST_SHOWN_MS);
  // The second list never arrives.
  expect(await watches.targets()).toHaveLength(1);
});
