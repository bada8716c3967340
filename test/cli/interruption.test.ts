import { expect, it, onTestFinished, vi } from 'vitest';

import { sayIfSlow } from '../../src/cli/interruption.ts';

it('a command that does not stop within a second of Ctrl-C says that a second one exits immediately', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const [note, interrupt] = [vi.fn(), new AbortController()];
  sayIfSlow({ note }, interrupt.signal);
  interrupt.abort();
  await vi.advanceTimersByTimeAsync(999);
  expect(note).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(note.mock.calls).toEqual([[expect.stringContaining('a second interrupt exits immediately')]]);
});
