import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { HookWatches } from '../../../src/dashboard/live/hookWatches.ts';
import type { HookDecision, HookEvents } from '../../../src/domain/hooks/hookState.ts';
import type { TargetHook } from '../../../src/temporal/client/hooks/targetHooks.ts';
import { answeringTemporal } from '../../temporal/client/answeringTemporal.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const TARGETS = ['target:1', 'target:2', 'target:3'];
const HOOK = 'hook:alerts:0123456789ab';

/** An event that waits for approval on each target. */
function eventsOf(id: string): HookEvents {
  const decisions = TARGETS.map((targetId): HookDecision => {
    return { rule: 'worse', target: targetId, targetId, do: 'rollback', state: 'needs_approval', note: '' };
  });
  return {
    rows: [{ id, title: 'worse', status: 'firing', at: '2026-11-25T12:00:00Z', deliveries: 1, decisions }],
    past: {},
    tallies: {},
  };
}

/** Hook watches on a Temporal with one hook for all targets, whose history has ended or grows when told so. */
function watching({ hasEnded = false } = {}) {
  let queries = 0;
  let lists = 0;
  let grow = (): void => undefined;
  const temporal = answeringTemporal({
    workflow: {
      getHandle: () => ({ query: () => Promise.resolve(eventsOf(`event-${(queries += 1)}`)) }),
      async *list() {
        lists += 1;
        yield await Promise.resolve({ workflowId: HOOK, memo: { targets: TARGETS } });
      },
    },
    workflowService: {
      getWorkflowExecutionHistory: () =>
        new Promise((resolve) => {
          if (hasEnded) resolve({ nextPageToken: new Uint8Array() });
          grow = () => resolve({ nextPageToken: new Uint8Array([1]) });
        }),
    },
  });
  return {
    watches: new HookWatches(temporal),
    counts: () => ({ queries, lists }),
    grow: async () => {
      grow();
      await vi.advanceTimersByTimeAsync(1_000);
      // The spacing is over: what follows is read at once.
      grow();
      await vi.advanceTimersByTimeAsync(1);
    },
  };
}

it('asks a hook that was terminated as rarely as it lists hooks', async () => {
  const { watches, counts } = watching({ hasEnded: true });
  const end = watches.follow('target:1', () => undefined);
  await vi.advanceTimersByTimeAsync(20_000);
  end();
  expect(counts().queries).toBeLessThanOrEqual(counts().lists + 1);
});

it('asks a hook once for all of its targets, and once more for each change', async () => {
  const { watches, counts, grow } = watching();
  const seen = new Map<string, readonly TargetHook[]>();
  const ends = TARGETS.map((target) => watches.follow(target, (hooks) => seen.set(target, hooks)));
  await vi.advanceTimersByTimeAsync(1);
  expect(counts()).toEqual({ queries: 1, lists: 1 });
  for (const target of TARGETS) {
    expect(seen.get(target)).toMatchObject([{ name: 'alerts', rows: [{ id: 'event-1' }] }]);
    expect(seen.get(target)?.[0]?.rows?.[0]?.decisions).toMatchObject([{ targetId: target }]);
  }
  await grow();
  expect(counts().queries).toBe(2);
  expect(seen.get('target:3')).toMatchObject([{ rows: [{ id: 'event-2' }] }]);
  for (const end of ends) end();
  const before = counts();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(counts().queries).toBeLessThanOrEqual(before.queries + 1);
  expect(counts().lists).toBe(before.lists);
});
