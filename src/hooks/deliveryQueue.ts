import { jsonBytes } from '../domain/bounds.ts';
import { SlipwayError } from '../domain/errors.ts';
import type { HookDelivery } from '../domain/hooks/hookEvent.ts';
import type { HookAnswer } from '../domain/hooks/takeDelivery.ts';
import { HookRefusal } from './form.ts';

/** Sends events to a hook's workflow. */
export type Deliver = (delivery: HookDelivery) => Promise<readonly HookAnswer[]>;

/** Most events in one message: the hook's queue has room for two, and Temporal accepts 2 MB. */
const MESSAGE_MAX_EVENTS = 100;
const MESSAGE_MAX_BYTES = 800_000;

interface Waiting {
  readonly delivery: HookDelivery;
  readonly bytes: number;
  readonly answer: (answers: readonly HookAnswer[]) => void;
  readonly fail: (error: unknown) => void;
}

/** Sends deliveries to a hook's workflow one message at a time. Those that arrive meanwhile share the next one. */
export class DeliveryQueue {
  readonly #send: Deliver;
  #waiting: Waiting[] = [];
  #isSending = false;

  constructor(send: Deliver) {
    this.#send = send;
  }

  /** @returns the answer to each event, once the workflow has stored them. */
  deliver(delivery: HookDelivery): Promise<readonly HookAnswer[]> {
    return new Promise((answer, fail) => {
      this.#waiting.push({ delivery, bytes: jsonBytes(delivery), answer, fail });
      if (!this.#isSending) void this.#sendAll();
    });
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true;
    while (this.#waiting.length > 0) {
      const together = this.#takeTogether();
      try {
        const answers = await this.#send(joined(together.map(({ delivery }) => delivery)));
        let from = 0;
        for (const { delivery, answer } of together) {
          const until = from + delivery.events.length;
          answer(answers.slice(from, until));
          from = until;
        }
      } catch (error) {
        // Another message would wait as long in vain, and so would the senders of the deliveries in it.
        const failed = isSilence(error) ? [...together, ...this.#waiting.splice(0)] : together;
        for (const { fail } of failed) fail(error);
      }
    }
    this.#isSending = false;
  }

  /** The oldest queued deliveries, as many as one message carries, but at least one. */
  #takeTogether(): readonly Waiting[] {
    let events = 0;
    let bytes = 0;
    const tooMany = this.#waiting.findIndex(({ delivery, bytes: more }, index) => {
      events += delivery.events.length;
      bytes += more;
      return index > 0 && (events > MESSAGE_MAX_EVENTS || bytes > MESSAGE_MAX_BYTES);
    });
    return this.#waiting.splice(0, tooMany === -1 ? this.#waiting.length : tooMany);
  }
}

function isSilence(error: unknown): boolean {
  if (!(error instanceof SlipwayError)) return false;
  return error.code === 'SLIPWAY_NO_WORKER' || error.code === 'SLIPWAY_TEMPORAL_UNREACHABLE';
}

function joined(deliveries: readonly HookDelivery[]): HookDelivery {
  let offset = 0;
  const events = deliveries.flatMap((delivery) => {
    const from = offset;
    offset += delivery.orders.length;
    return delivery.events.map((event) => ({
      ...event,
      matches: event.matches.map((match) => ({ ...match, order: match.order + from })),
    }));
  });
  return { events, orders: deliveries.flatMap(({ orders }) => orders) };
}

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
