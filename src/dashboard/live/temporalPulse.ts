import { SlipwayError } from '../../domain/errors.ts';
import { callTemporal, type TemporalConnection } from '../../temporal/client/connection.ts';
import { pause } from '../../temporal/client/pause.ts';

/** How often Temporal is asked, in milliseconds. The call is not billed. */
const ASK_EVERY_MS = 2_000;
const ANSWERS_WITHIN_MS = 4_000;

/**
 * Notices that Temporal hangs. It keeps its connections open then, so a read that waits for news of a workflow would notice
 * it only at the end of its minute.
 */
export class TemporalPulse {
  readonly #temporal: TemporalConnection;
  readonly #followers = new Set<(silence: SlipwayError) => void>();
  #asking: AbortController | undefined;

  constructor(temporal: TemporalConnection) {
    this.#temporal = temporal;
  }

  /** Calls back each time that Temporal does not answer. @returns a function that ends that. */
  follow(onSilence: (silence: SlipwayError) => void): () => void {
    this.#followers.add(onSilence);
    if (this.#asking === undefined) {
      this.#asking = new AbortController();
      void this.#keepAsking(this.#asking.signal);
    }
    return () => {
      this.#followers.delete(onSilence);
      if (this.#followers.size > 0) return;
      this.#asking?.abort();
      this.#asking = undefined;
    };
  }

  async #keepAsking(signal: AbortSignal): Promise<void> {
    const ask = () => this.#temporal.connection.workflowService.getSystemInfo({});
    while (!signal.aborted) {
      try {
        await callTemporal(this.#temporal, ask, ANSWERS_WITHIN_MS);
      } catch (error) {
        if (error instanceof SlipwayError) for (const onSilence of this.#followers) onSilence(error);
      }
      await pause(ASK_EVERY_MS, signal);
    }
  }
}
