import { setImmediate as nextTurn } from 'node:timers/promises';

import { isDatabaseAway, throughOutage } from './databaseAway.ts';
import type { CheckpointRows, Fence } from './fencedWrites.ts';

export interface RunWriterOptions {
  readonly fence: Fence;
  /** Whether this process still holds its lease, as far as it knows. Until then, failed writes are retried. */
  readonly holds: () => boolean;
  /** Called when another process owns the run. */
  readonly onLost: () => void;
  /** Whether its thread has no checkpoint, so that nothing needs to be read before the first write. */
  readonly blank: boolean;
}

/**
 * Writes the checkpoints of one attempt of a run, in order. Rows that arrive during a statement form the next
 * statement. A node's writes are sent at once, before the events about it, so that a node whose work a client has
 * seen does not run again.
 */
export class RunWriter {
  readonly fence: Fence;
  /**
   * Whether the graph starts with LangGraph's own `__start__`, so that no code of the agent runs before the step
   * after the input's. Such a run does not wait for its first two checkpoints. Until a node has ended, they hold only
   * what the run's record has, and a killed run starts again from that.
   */
  startsPlainly = false;
  #blank: boolean;
  #inputId: string | undefined;
  #batch: CheckpointRows[] = [];
  #stored: Promise<unknown> = Promise.resolve();
  #hurry: () => void = () => undefined;
  readonly #options: RunWriterOptions;
  readonly #write: (rows: CheckpointRows, fence: Fence) => Promise<boolean>;

  /** `write` stores rows if the fence holds. */
  constructor(options: RunWriterOptions, write: (rows: CheckpointRows, fence: Fence) => Promise<boolean>) {
    this.fence = options.fence;
    this.#blank = options.blank;
    this.#options = options;
    this.#write = write;
  }

  /** Resolves when the rows are stored, or at once if the run need not wait for them ({@link startsPlainly}). */
  async store(rows: CheckpointRows): Promise<void> {
    this.#blank = false;
    const isOpening = this.#isOpening(rows);
    this.#batch.push(rows);
    if (this.#batch.length === 1) {
      const turn = isOpening
        ? Promise.race([nextTurn(), new Promise<void>((resolve) => (this.#hurry = resolve))])
        : undefined;
      // A failure stays: rows after missing rows are not stored.
      this.#stored = this.#stored.then(() => turn).then(() => this.#storeBatch());
      this.#stored.catch(() => undefined);
    }
    if (isOpening) return;
    this.#hurry();
    await this.#stored;
  }

  /** Reads after the run's pending writes. `undefined`: its thread has no checkpoint. */
  async read<T>(work: () => Promise<T>): Promise<T | undefined> {
    if (this.#blank) return undefined;
    await this.#stored;
    return this.#throughOutage(work);
  }

  /** Resolves when no write is pending, with the error if one failed. */
  async settled(): Promise<unknown> {
    let failure: unknown;
    for (let seen: unknown; seen !== this.#stored;) {
      seen = this.#stored;
      await this.#stored.catch((error: unknown) => (failure = error));
      // A write that was queued behind the last one starts now.
      await nextTurn();
    }
    return failure;
  }

  async #storeBatch(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    const rows: CheckpointRows = {
      checkpoints: batch.flatMap(({ checkpoints }) => checkpoints),
      values: batch.flatMap(({ values }) => values),
      writes: batch.flatMap(({ writes }) => writes),
    };
    const { fence, onLost } = this.#options;
    if (await this.#throughOutage(() => this.#write(rows, fence))) return;
    onLost();
    throw new Error(`Run ${fence.runId} is executed elsewhere now; nothing more of it is stored here.`);
  }

  /** Whether rows are the run's input, or the output of `__start__`. */
  #isOpening({ checkpoints: [checkpoint], writes: [write] }: CheckpointRows): boolean {
    if (!this.startsPlainly) return false;
    if (checkpoint?.isInput === true) this.#inputId ??= checkpoint.id;
    const after =
      checkpoint?.isInput === true ? checkpoint.id : (checkpoint?.parentId ?? write?.checkpointId);
    return after !== undefined && after === this.#inputId;
  }

  /** Retries while the database is away and the lease holds; after that, the run is lost. */
  async #throughOutage<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await throughOutage(work, this.#options.holds);
    } catch (error) {
      if (isDatabaseAway(error)) this.#options.onLost();
      throw error;
    }
  }
}
