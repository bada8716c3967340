import { HookRefusal } from './hookRefusal.ts';

/** Limits of the deliveries in progress: their number, and their total size. */
const DELIVERIES_MAX = 1_000;
const BYTES_MAX = 64 * 1_024 * 1_024;
/** The `Retry-After` of a rejected delivery, in seconds. */
export const RETRY_AFTER_S = 2;

/** The error if there is no room for a delivery. */
export function busy(why: string): HookRefusal {
  return new HookRefusal(503, 'SLIPWAY_HOOK_BUSY', why, {
    hint: 'send it again later: each event counts once',
  });
}

/** Bounds the memory that a listener's deliveries use. */
export class Intake {
  #deliveries = 0;
  #bytes = 0;

  /**
   * Processes a delivery if there is room.
   * @param bytes - its largest possible length.
   * @param work - receives a function to call once the actual length is known.
   * @throws HookRefusal SLIPWAY_HOOK_BUSY (503) if there is no room.
   */
  async within<T>(bytes: number, work: (isLong: (bytes: number) => void) => Promise<T>): Promise<T> {
    let held = bytes;
    if (this.#deliveries >= DELIVERIES_MAX || this.#bytes + bytes > BYTES_MAX)
      throw busy('the listener is processing too many deliveries');
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
