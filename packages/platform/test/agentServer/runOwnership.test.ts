import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { RunOwnership } from '../../src/agentServer/runs/runOwnership.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it('waits at its end for the round that has begun, because the database is closed then', async () => {
  let remove: () => void = () => undefined;
  const removed = new Promise<void>((resolve) => (remove = resolve));
  const parts = {
    service: { closing: false, isIdle: true },
    lease: { isHeld: false },
    events: { removeExpired: vi.fn(() => removed) },
    items: { dropExpired: vi.fn(() => Promise.resolve()) },
    runs: { removeExpired: vi.fn(() => Promise.resolve()) },
  };
  const ownership = new RunOwnership(parts as never);
  await ownership.start();
  await vi.advanceTimersByTimeAsync(90_000);
  expect(parts.events.removeExpired).toHaveBeenCalledOnce();
  const stopped = ownership.stop();
  remove();
  await stopped;
  expect(parts.runs.removeExpired).toHaveBeenCalledOnce();
});
