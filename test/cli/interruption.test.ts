import { expect, it, onTestFinished, vi } from 'vitest';

import { interruptible } from '../../src/cli/interruption.ts';

it('a command that does not stop within a second of Ctrl-C says that a second one exits immediately', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const note = vi.fn();
  let stop = (): void => undefined;
  const work = new Promise<void>((resolve) => (stop = resolve));
  const command = interruptible(() => work, { note });
  process.emit('SIGINT');
  await vi.advanceTimersByTimeAsync(999);
  expect(note).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(note.mock.calls).toEqual([[expect.stringContaining('a second interrupt exits immediately')]]);
  stop();
  await command;
});

it('a command that Ctrl-C ends with an unexpected error exits with 130', async () => {
  const command = interruptible(
    (signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
  );
  process.emit('SIGINT');
  await expect(command).rejects.toMatchObject({ exitCode: 130, message: /stopped/ });
});

it('a command that stops within a second of Ctrl-C says nothing', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const note = vi.fn();
  const command = interruptible(
    (signal) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
    { note },
  );
  process.emit('SIGINT');
  await command;
  await vi.advanceTimersByTimeAsync(2_000);
  expect(note).not.toHaveBeenCalled();
});
