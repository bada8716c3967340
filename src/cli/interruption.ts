/** Exit code of what Ctrl-C ended before it was done, as shells count it. */
export const INTERRUPTED = 130;

/**
 * Takes SIGINT and SIGTERM: the first one ends the command in order, a second one ends the process at once.
 *
 * @param onSecond - done before the process ends at once.
 * @returns a signal that the first one aborts, and what hands the signals back.
 */
export function onInterruption(onSecond: () => void = () => undefined) {
  const controller = new AbortController();
  const take = (): void => {
    if (controller.signal.aborted) {
      onSecond();
      process.exit(INTERRUPTED);
    }
    controller.abort();
  };
  process.on('SIGINT', take);
  process.on('SIGTERM', take);
  return {
    signal: controller.signal,
    release: (): void => {
      process.off('SIGINT', take);
      process.off('SIGTERM', take);
    },
  };
}

/**
 * Ends this process as SIGTERM does once its stdin ends, where `SLIPWAY_EXIT_WITH_PARENT=1` says that the other end is
 * held by whoever started it: it must not outlive that process, however that ends.
 */
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
  // Listening to it must not keep a process alive that has nothing else to do. What is no socket cannot.
  if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref();
}
