import { type Lease, retryDuringOutage } from '../../store/databaseOutage.ts';
import type { EventStore, StreamEvent } from '../store/eventStore.ts';
import type { Fence } from '../store/fencedWrites.ts';

export interface EventLogOptions {
  readonly store: EventStore;
  readonly fence: Fence;
  readonly lease: Lease;
  /** Called when events can no longer be stored because another process owns the run. */
  readonly onRunLost: () => void;
  readonly sendToReaders: (event: StreamEvent) => void;
  /** The id of the newest event sent to readers here, for an attempt that began without a log. */
  readonly lastSentId?: () => number;
  /** How much of a run to keep for readers that come back, in bytes of JSON. Default 8 MiB; the oldest go first. */
  readonly maxStoredBytes?: number;
  /** How much may wait to be stored before the run has to wait, in bytes. Default 1 MiB. */
  readonly maxPendingBytes?: number;
}

/**
 * The stored events of one attempt of a run. An event is stored before it is delivered, so that a reader can continue
 * after it in any process. Events that arrive while a batch is being stored form the next batch.
 */
export class EventLog {
  readonly #options: EventLogOptions;
  readonly #storedSizes: { id: number; bytes: number }[];
  #storedBytes: number;
  #lastId: number;
  #pendingEvents: StreamEvent[] = [];
  #pendingBytes = 0;
  #storing: Promise<void> | undefined;

  private constructor(options: EventLogOptions, kept: { id: number; bytes: number }[]) {
    this.#options = options;
    this.#storedSizes = kept;
    this.#storedBytes = kept.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#lastId = kept.at(-1)?.id ?? 0;
  }

  /** Opens the log after the events of earlier attempts. A further attempt then publishes `metadata`. */
  static async open(options: EventLogOptions): Promise<EventLog> {
    const { runId, attempt } = options.fence;
    if (attempt <= 1) return new EventLog(options, []);
    const kept = await retryDuringOutage(options.lease, () => options.store.storedSizes(runId));
    const log = new EventLog(options, kept);
    if (options.lastSentId !== undefined) return log;
    log.publish('metadata', JSON.stringify({ run_id: runId, attempt }));
    return log;
  }

  /** Sends an event to every reader once it is stored; `data` is JSON already. */
  publish(event: string, data: string): void {
    this.#lastId = Math.max(this.#lastId, this.#options.lastSentId?.() ?? 0) + 1;
    this.#pendingEvents.push({ id: this.#lastId, event, data });
    this.#pendingBytes += data.length;
    this.#storing ??= this.#storePending().finally(() => {
      this.#storing = undefined;
    });
  }

  /** Resolves when there is room for more: at once, unless the database is slower than the run. */
  async waitForCapacity(): Promise<void> {
    const { maxPendingBytes = 1_048_576 } = this.#options;
    if (this.#pendingBytes > maxPendingBytes) await this.waitUntilStored();
  }

  /** Resolves when every published event is stored and sent, or has failed for good. Never rejects. */
  async waitUntilStored(): Promise<void> {
    await this.#storing;
  }

  async #storePending(): Promise<void> {
    while (this.#pendingEvents.length > 0) {
      const batch = this.#pendingEvents;
      this.#pendingEvents = [];
      this.#pendingBytes = 0;
      if (!(await this.#storeBatch(batch))) {
        this.#options.onRunLost();
        return;
      }
      for (const event of batch) this.#options.sendToReaders(event);
    }
  }

  /** False if another process owns the run, or the database was away for longer than the lease. */
  async #storeBatch(batch: readonly StreamEvent[]): Promise<boolean> {
    for (const { id, data } of batch) {
      const bytes = Buffer.byteLength(data);
      this.#storedSizes.push({ id, bytes });
      this.#storedBytes += bytes;
    }
    const { store, fence, lease, maxStoredBytes = 8 * 1_048_576 } = this.#options;
    let dropThrough = 0;
    // The newest stays, however large it is.
    while (this.#storedBytes > maxStoredBytes && this.#storedSizes.length > 1) {
      const oldest = this.#storedSizes.shift();
      if (oldest === undefined) break;
      this.#storedBytes -= oldest.bytes;
      dropThrough = oldest.id;
    }
    const kept = batch.filter(({ id }) => id > dropThrough);
    try {
      return await retryDuringOutage(lease, () => store.append(fence, kept, dropThrough));
    } catch {
      return false;
    }
  }
}
