import { throughOutage } from '../store/databaseAway.ts';
import type { EventStore, StreamEvent } from '../store/eventStore.ts';
import type { Fence } from '../store/fencedWrites.ts';

/** Bounds of an {@link EventLog}, in bytes of JSON. */
export interface EventLogLimits {
  /** What is kept of a run for readers that come back, oldest dropped first: default 8 MiB. */
  readonly keptBytes: number;
  /** What may wait to be stored before the run has to wait too: default 1 MiB. */
  readonly waitingBytes: number;
}

const DEFAULT_LIMITS: EventLogLimits = { keptBytes: 8 * 1_048_576, waitingBytes: 1_048_576 };

/**
 * The stream of one attempt of a run whose events are stored. An event is stored before anybody sees it, so that whoever
 * saw it can go on behind it in any process; what comes while one batch is being stored is the next batch.
 */
export class EventLog {
  readonly #store: EventStore;
  readonly #fence: Fence;
  readonly #holds: () => boolean;
  readonly #onLost: () => void;
  readonly #deliver: (event: StreamEvent) => void;
  readonly #sentBefore: () => number;
  readonly #limits: EventLogLimits;
  readonly #kept: { id: number; bytes: number }[];
  #keptBytes: number;
  #lastId: number;
  #waiting: StreamEvent[] = [];
  #waitingBytes = 0;
  #storing: Promise<void> | undefined;

  private constructor(options: EventLogOptions, kept: { id: number; bytes: number }[]) {
    this.#store = options.store;
    this.#fence = options.fence;
    this.#holds = options.holds;
    this.#onLost = options.onLost;
    this.#deliver = options.deliver;
    this.#sentBefore = options.sentBefore ?? (() => 0);
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#kept = kept;
    this.#keptBytes = kept.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#lastId = kept.at(-1)?.id ?? 0;
  }

  /**
   * Opens the log where earlier attempts left it; a further attempt is told by another `metadata` event, where it
   * begins with its log.
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

  /** Sends an event to every reader, once it is stored; `data` is JSON already. */
  publish(event: string, data: string): void {
    this.#lastId = Math.max(this.#lastId, this.#sentBefore()) + 1;
    this.#waiting.push({ id: this.#lastId, event, data });
    this.#waitingBytes += data.length;
    this.#storing ??= this.#storeAll().finally(() => {
      this.#storing = undefined;
    });
  }

  /** Resolves when there is room for more: at once, unless the database is slower than the run. */
  async room(): Promise<void> {
    if (this.#waitingBytes > this.#limits.waitingBytes) await this.settled();
  }

  /** Resolves when everything published is stored and sent, or never will be. Never rejects. */
  async settled(): Promise<void> {
    await this.#storing;
  }

  async #storeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      this.#waitingBytes = 0;
      if (!(await this.#storeBatch(batch))) {
        this.#onLost();
        return;
      }
      for (const event of batch) this.#deliver(event);
    }
  }

  /** Whether it was stored; not where the run is another's, or the database was away for longer than the lease. */
  async #storeBatch(batch: readonly StreamEvent[]): Promise<boolean> {
    for (const { id, data } of batch) {
      const bytes = Buffer.byteLength(data);
      this.#kept.push({ id, bytes });
      this.#keptBytes += bytes;
    }
    let dropThrough = 0;
    while (this.#keptBytes > this.#limits.keptBytes) {
      const oldest = this.#kept.shift();
      if (oldest === undefined) break;
      this.#keptBytes -= oldest.bytes;
      dropThrough = oldest.id;
    }
    const kept = batch.filter(({ id }) => id > dropThrough);
    try {
      return await throughOutage(() => this.#store.append(this.#fence, kept, dropThrough), this.#holds);
    } catch {
      return false;
    }
  }
}

/** What an {@link EventLog} works with. */
export interface EventLogOptions {
  readonly store: EventStore;
  readonly fence: Fence;
  /** Whether this process may still take the run for its own, as far as it knows. */
  readonly holds: () => boolean;
  /** Called when events can be stored no more: the run is another's. */
  readonly onLost: () => void;
  /** Hands a stored event to the readers here. */
  readonly deliver: (event: StreamEvent) => void;
  /** The id of the newest event that readers here were sent, for an attempt that had begun without its log. */
  readonly sentBefore?: () => number;
  readonly limits?: Partial<EventLogLimits>;
}
