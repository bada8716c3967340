import { ServiceError } from '../clients/serviceError.ts';
import { formatDuration } from '../domain/duration.ts';
import { pause } from '../temporal/client/pause.ts';
import type { CommandContext } from './context.ts';

/** How long one call is repeated, in milliseconds. */
const BUSY_MS = 30_000;
const FIRST_PAUSE_MS = 500;

/**
 * Repeats a call while the service answers that it is busy (429, 503), as it asks (`Retry-After`), for 30 s. A
 * change that may have been made is not repeated.
 * @throws what the call throws.
 */
export async function retryBusy<T>(
  { output }: Pick<CommandContext, 'output'>,
  call: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const deadline = Date.now() + BUSY_MS;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= 2) {
    try {
      return await call();
    } catch (error) {
      if (!isBusy(error)) throw error;
      const waitMs = Math.max(error.retryAfterMs ?? 0, pauseMs);
      if (Date.now() + waitMs > deadline) throw error;
      output.progress(`${error.message}; trying again in ${formatDuration(waitMs)}`);
      await pause(waitMs, signal);
      if (signal?.aborted === true) throw error;
    }
  }
}

function isBusy(error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError) || (error.status !== 429 && error.status !== 503)) return false;
  return error.method === 'GET' || !error.mayHaveBeenTaken;
}
