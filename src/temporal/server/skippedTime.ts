import type { TestService } from '@temporalio/client';
import { msToTs, tsToMs } from '@temporalio/common/lib/time.js';

/**
 * The time of a test server. It is skipped where the server waits for nothing but time, and nobody holds it; whoever
 * holds it lets it pass as everybody's does. From the beginning one holds it: whoever started the server.
 */
export class SkippedTime {
  readonly #service: TestService;

  constructor(service: TestService) {
    this.#service = service;
  }

  /** Milliseconds since 1970. */
  async now(): Promise<number> {
    const { time } = await this.#service.getCurrentTime({});
    return tsToMs(time);
  }

  /** Holds the time from now on, until {@link SkippedTime.release}. */
  async hold(): Promise<void> {
    await this.#service.lockTimeSkipping({});
  }

  /** Ends one holding. */
  async release(): Promise<void> {
    await this.#service.unlockTimeSkipping({});
  }

  /**
   * Lets whoever holds the time release it until a moment, in milliseconds since 1970, and hold it again in that very
   * moment. Resolves then; at once where it has passed.
   */
  async until(moment: number): Promise<void> {
    const left = moment - (await this.now());
    if (left > 0) await this.#service.unlockTimeSkippingWithSleep({ duration: msToTs(left) });
  }
}
