import type { Output } from './output.ts';

/** The exit code after Ctrl-C: 128 + SIGINT, as in shells. */
export const INTERRUPTED = 130;

/** Runs work whose signal the first SIGINT or SIGTERM aborts. A second one ends the process at once. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const take = (): void => {
    if (controller.signal.aborted) process.exit(INTERRUPTED);
    controller.abort();
  };
  process.on('SIGINT', take);
  process.on('SIGTERM', take);
  try {
    return await work(controller.signal);
  } finally {
    process.off('SIGINT', take);
    process.off('SIGTERM', take);
  }
}

/** How long a command may take to stop before it says so, in milliseconds. */
const SLOW_MS = 1_000;

/** Says that a second interrupt ends the command at once, if the command still runs a second after the first. */
export function sayIfSlow({ note }: Pick<Output, 'note'>, signal: AbortSignal): void {
  const say = (): void =>
    note('stopping; a second interrupt exits immediately, and what the target has accepted continues');
  signal.addEventListener('abort', () => setTimeout(say, SLOW_MS).unref(), { once: true });
}

/** With `SLIPWAY_EXIT_WITH_PARENT=1`, this process ends when its stdin closes, which even a killed parent does. */
export function exitWithParent(environment: Readonly<Record<string, string | undefined>>): void {
  if (environment['SLIPWAY_EXIT_WITH_PARENT'] !== '1') return;
  let ended = false;
  const end = (): void => {
    if (ended) return;
    ended = true;
    process.kill(process.pid, 'SIGTERM');
  };
  const { stdin } = process;
  stdin.once('end', end).once('error', end).once('close', end).resume();
  // The listener must not keep the process alive. Only a socket can do that, so only a socket has `unref`.
  if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref();
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
