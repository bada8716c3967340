import { throughOutage } from '../store/databaseAway.ts';
import type { EventStore, StreamEvent } from '../store/eventStore.ts';
import type { Fence } from '../store/fencedWrites.ts';

export interface EventLogOptions {
  readonly store: EventStore;
  readonly fence: Fence;
  /** Whether this process still holds its lease, as far as it knows. */
  readonly holds: () => boolean;
  /** Called when events can no longer be stored because another process owns the run. */
  readonly onLost: () => void;
  /** Sends a stored event to the readers in this process. */
  readonly deliver: (event: StreamEvent) => void;
  /** The id of the newest event sent to readers here, for an attempt that began without a log. */
  readonly sentBefore?: () => number;
  /**
   * How much of a run to keep for readers that come back, in bytes of JSON; the oldest are dropped first. Default 8
   * MiB.
   */
  readonly keptBytes?: number;
  /** How much may wait to be stored before the run has to wait, in bytes. Default 1 MiB. */
  readonly waitingBytes?: number;
}

/**
 * The stored events of one attempt of a run. An event is stored before it is delivered, so that a reader can continue
 * after it in any process. Events that arrive while a batch is being stored form the next batch.
 */
export class EventLog {
  readonly #options: EventLogOptions;
  readonly #kept: { id: number; bytes: number }[];
  #keptBytes: number;
  #lastId: number;
  #waiting: StreamEvent[] = [];
  #waitingBytes = 0;
  #storing: Promise<void> | undefined;

  private constructor(options: EventLogOptions, kept: { id: number; bytes: number }[]) {
    this.#options = options;
    this.#kept = kept;
    this.#keptBytes = kept.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#lastId = kept.at(-1)?.id ?? 0;
  }

  /**
   * Opens the log after the events of earlier attempts. A further attempt that opens its log at its start publishes
   * `metadata`.
   */
  static async open(options: EventLogOptions): Promise<EventLog> {
    const { runId, attempt } = options.fence;
    if (attempt <= 1) return new EventLog(options, []);
    const kept = await throughOutage(() => options.store.kept(runId), options.holds);
    const log = new EventLog(options, kept);
    if (options.sentBefore !== undefined) return log;
    log.publish('metadata', JSON.stringify({ run_id: runId, attempt }));
    return log;
  }

  /** Sends an event to every reader once it is stored; `data` is JSON already. */
  publish(event: string, data: string): void {
    this.#lastId = Math.max(this.#lastId, this.#options.sentBefore?.() ?? 0) + 1;
    this.#waiting.push({ id: this.#lastId, event, data });
    this.#waitingBytes += data.length;
    this.#storing ??= this.#storeAll().finally(() => {
      this.#storing = undefined;
    });
  }

  /** Resolves when there is room for more: at once, unless the database is slower than the run. */
  async room(): Promise<void> {
    const { waitingBytes = 1_048_576 } = this.#options;
    if (this.#waitingBytes > waitingBytes) await this.settled();
  }

  /** Resolves when every published event is stored and sent, or has failed for good. Never rejects. */
  async settled(): Promise<void> {
    await this.#storing;
  }

  async #storeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      this.#waitingBytes = 0;
      if (!(await this.#storeBatch(batch))) {
        this.#options.onLost();
        return;
      }
      for (const event of batch) this.#options.deliver(event);
    }
  }

  /** False if another process owns the run, or the database was away for longer than the lease. */
  async #storeBatch(batch: readonly StreamEvent[]): Promise<boolean> {
    for (const { id, data } of batch) {
      const bytes = Buffer.byteLength(data);
      this.#kept.push({ id, bytes });
      this.#keptBytes += bytes;
    }
    const { store, fence, holds, keptBytes = 8 * 1_048_576 } = this.#options;
    let dropThrough = 0;
    while (this.#keptBytes > keptBytes) {
      const oldest = this.#kept.shift();
      if (oldest === undefined) break;
      this.#keptBytes -= oldest.bytes;
      dropThrough = oldest.id;
    }
    const kept = batch.filter(({ id }) => id > dropThrough);
    try {
      return await throughOutage(() => store.append(fence, kept, dropThrough), holds);
    } catch {
      return false;
    }
  }
}
