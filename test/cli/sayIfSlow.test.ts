import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { sayIfSlow } from '../../src/cli/sayIfSlow.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('a command says what it waits for after a second, and nothing if the work is quicker or has failed', async () => {
  const progress = vi.fn<(line: string) => void>();
  const after = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  const quick = sayIfSlow({ progress }, 'Packing', after(900));
  const failed = sayIfSlow({ progress }, 'Packing', Promise.reject(new Error('no'))).catch(() => 'failed');
  await vi.advanceTimersByTimeAsync(2_000);
  await quick;
  expect(await failed).toBe('failed');
  expect(progress).not.toHaveBeenCalled();
  const slow = sayIfSlow({ progress }, 'Packing', after(1_100));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(progress).toHaveBeenCalledExactlyOnceWith('Packing');
  await vi.advanceTimersByTimeAsync(200);
  await slow;
});
