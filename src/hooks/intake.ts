import { HookRefusal } from './hookRefusal.ts';

/** How many deliveries a listener works on at once, and how large they may be together. */
const DELIVERIES_MAX = 1_000;
const BYTES_MAX = 64 * 1_024 * 1_024;
/** What a sender that was refused for it is told to wait, in seconds. */
export const RETRY_AFTER_S = 2;

/** Bounds what a listener holds in memory, however many deliveries arrive. */
export class Intake {
  #deliveries = 0;
  #bytes = 0;

  /**
   * Works on a delivery.
   *
   * @param bytes - how long it is at most.
   * @param work - told what to call once it is known how long it is.
   * @throws HookRefusal SLIPWAY_HOOK_BUSY (503) if there is no room.
   */
  async within<T>(bytes: number, work: (isLong: (bytes: number) => void) => Promise<T>): Promise<T> {
    let held = bytes;
    if (this.#deliveries >= DELIVERIES_MAX || this.#bytes + bytes > BYTES_MAX)
      throw new HookRefusal(503, 'SLIPWAY_HOOK_BUSY', 'the listener works on too many deliveries', {
        hint: 'send it again later: each event counts once',
      });
    this.#deliveries += 1;
    this.#bytes += bytes;
    try {
      return await work((length) => {
        this.#bytes += length - held;
        held = length;
      });
    } finally {
      this.#deliveries -= 1;
      this.#bytes -= held;
    }
  }
}
