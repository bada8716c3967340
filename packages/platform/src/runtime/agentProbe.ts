import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';

/** How long one probe may take: an agent that needs longer for `/ok` is not ready. */
const PROBE_TIMEOUT_MS = 2_000;
const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 500;

/**
 * Asks an agent's `GET /ok` until it answers 200 (the Run API's readiness answer).
 *
 * @param url - the agent's address.
 * @param onAnswer - told how each probe that was not 200 went, in words.
 * @param signal - gives up; the promise then rejects with the signal's reason. There is no other end.
 */
export async function probeUntilOk(
  url: string,
  onAnswer: (answer: string) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    signal.throwIfAborted();
    try {
      const { statusCode, body } = await request(new URL('/ok', url), {
        signal: AbortSignal.any([signal, AbortSignal.timeout(PROBE_TIMEOUT_MS)]),
        // A pooled connection would keep this process's probe counted as a client while the agent drains.
        headers: { connection: 'close' },
      });
      await body.dump();
      if (statusCode === 200) return;
      onAnswer(`GET /ok answered ${String(statusCode)}`);
    } catch (error) {
      signal.throwIfAborted();
      onAnswer(`GET /ok got no answer (${error instanceof Error ? error.message : String(error)})`);
    }
    await sleep(pause, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}
