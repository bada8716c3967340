import { once } from 'node:events';

import { CodedError, isCodedError } from '@slipway/contract/codedError';

import type { Output } from './output.ts';

/** The exit code after Ctrl-C: 128 + SIGINT, as in shells. */
export const INTERRUPTED = 130;

const SLOW_MS = 1_000;

/**
 * Runs work whose signal the first SIGINT or SIGTERM aborts. A second one ends the process at once.
 * @param output - of a command whose request continues without it: it says so if the work takes over a second to stop.
 * @throws CodedError with {@link INTERRUPTED} if the abort ended the work with an unexpected error.
 */
export async function interruptible<T>(
  work: (signal: AbortSignal) => Promise<T>,
  output?: Pick<Output, 'note'>,
): Promise<T> {
  const controller = new AbortController();
  let slow: NodeJS.Timeout | undefined;
  const take = (): void => {
    if (controller.signal.aborted) process.exit(INTERRUPTED);
    controller.abort();
    const say = () =>
      output?.note('stopping; a second interrupt exits immediately, and what was accepted continues');
    slow = setTimeout(say, SLOW_MS);
  };
  process.on('SIGINT', take);
  process.on('SIGTERM', take);
  try {
    return await work(controller.signal);
  } catch (error) {
    if (!controller.signal.aborted || isCodedError(error)) throw error;
    throw new CodedError('SLIPWAY_USAGE', INTERRUPTED, 'stopped by Ctrl-C or SIGTERM', { cause: error });
  } finally {
    clearTimeout(slow);
    process.off('SIGINT', take);
    process.off('SIGTERM', take);
  }
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

export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
