/** Ctrl-C and SIGTERM, as one command takes them. */
export interface Interruption {
  /** Aborted at the first signal. */
  readonly signal: AbortSignal;
  /** Hands the signals back. */
  release(): void;
}

/** Exit code of what Ctrl-C ended before it was done, as shells count it. */
export const INTERRUPTED = 130;

/**
 * Takes SIGINT and SIGTERM: the first one ends the command in order, a second one ends the process at once.
 *
 * @param onSecond - done before the process ends at once.
 */
export function onInterruption(onSecond: () => void = () => undefined): Interruption {
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
    release: () => {
      process.off('SIGINT', take);
      process.off('SIGTERM', take);
    },
  };
}
