/** How long a stopped graph may take to come to rest before it is left behind, in milliseconds. */
const STOP_GRACE_MS = 2_000;

/** Waits for one thing after another, with an end. */
export interface StopGrace {
  /** Waits for the work; `undefined` once the grace is over. */
  within<T>(work: Promise<T>): Promise<T | undefined>;
  /** Takes its timer and its listener away. */
  clear(): void;
}

/**
 * Waits for one thing after another, until a moment after the signal is aborted: from then on with nothing. A race with
 * one promise that lives as long as the run would hold everything that was ever waited for.
 */
export function graceAfter(signal: AbortSignal): StopGrace {
  let timer: NodeJS.Timeout | undefined;
  let over = false;
  let giveUp: () => void = () => undefined;
  const start = () => {
    timer = setTimeout(() => {
      over = true;
      giveUp();
    }, STOP_GRACE_MS);
  };
  if (signal.aborted) start();
  else signal.addEventListener('abort', start, { once: true });
  return {
    within: <T>(work: Promise<T>) =>
      new Promise<T | undefined>((resolve, reject) => {
        giveUp = () => resolve(undefined);
        work.then(resolve, reject);
        if (over) giveUp();
      }),
    clear: () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', start);
    },
  };
}
