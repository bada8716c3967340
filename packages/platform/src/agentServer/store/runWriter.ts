import { setImmediate as nextTurn } from 'node:timers/promises';

import { isDatabaseAway, throughOutage } from './databaseAway.ts';
import type { CheckpointRows, Fence } from './fencedWrites.ts';

export interface RunWriterOptions {
  readonly fence: Fence;
  /** Whether this process still holds its lease, as far as it knows: so long a write is worth trying. */
  readonly holds: () => boolean;
  /** Called when the run is another process's now. */
  readonly onLost: () => void;
  /** Whether its thread has no checkpoint, so that none is read before it writes the first one. */
  readonly blank: boolean;
}

/**
 * An attempt of a run that may write checkpoints, in order. What comes while one statement is under way is the next
 * statement. What a node wrote is sent at once: before the events that tell of it, so that a node whose work a client
 * has seen does not run again.
 */
export class RunWriter {
  readonly fence: Fence;
  /**
   * Whether nothing of the agent has run before the step after the input's: its graph starts with LangGraph's own
   * `__start__`. Such a run does not wait until these two checkpoints are stored: until a node has ended they hold
   * nothing that is not in the run's record, from which a killed run starts again.
   */
  startsPlainly = false;
  #blank: boolean;
  #inputId: string | undefined;
  #batch: CheckpointRows[] = [];
  #stored: Promise<unknown> = Promise.resolve();
  #hurry: () => void = () => undefined;
  readonly #options: RunWriterOptions;
  readonly #write: (rows: CheckpointRows, fence: Fence) => Promise<boolean>;

  /** `write` stores rows, if the fence holds. */
  constructor(options: RunWriterOptions, write: (rows: CheckpointRows, fence: Fence) => Promise<boolean>) {
    this.fence = options.fence;
    this.#blank = options.blank;
    this.#options = options;
    this.#write = write;
  }

  /** Resolves when the rows are stored; at once for those that the run does not wait for ({@link startsPlainly}). */
  async store(rows: CheckpointRows): Promise<void> {
    this.#blank = false;
    const isOpening = this.#isOpening(rows);
    this.#batch.push(rows);
    if (this.#batch.length === 1) {
      const turn = isOpening
        ? Promise.race([nextTurn(), new Promise<void>((resolve) => (this.#hurry = resolve))])
        : undefined;
      // A failure stays: what follows rows that are missing is not stored.
      this.#stored = this.#stored.then(() => turn).then(() => this.#storeBatch());
      this.#stored.catch(() => undefined);
    }
    if (isOpening) return;
    this.#hurry();
    await this.#stored;
  }

  /** Reads what the run has written so far. `undefined`: its thread has no checkpoint. */
  async read<T>(work: () => Promise<T>): Promise<T | undefined> {
    if (this.#blank) return undefined;
    await this.#stored;
    return this.#throughOutage(work);
  }

  /** Resolves when no write is under way. Answers the error, if one failed. */
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

  /** Whether rows are the run's input, or what `__start__` made of it. */
  #isOpening({ checkpoints: [checkpoint], writes: [write] }: CheckpointRows): boolean {
    if (!this.startsPlainly) return false;
    if (checkpoint?.isInput === true) this.#inputId ??= checkpoint.id;
    const after =
      checkpoint?.isInput === true ? checkpoint.id : (checkpoint?.parentId ?? write?.checkpointId);
    return after !== undefined && after === this.#inputId;
  }

  /** Waits for a database that is away as long as the lease holds; the run is lost with it. */
  async #throughOutage<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await throughOutage(work, this.#options.holds);
    } catch (error) {
      if (isDatabaseAway(error)) this.#options.onLost();
      throw error;
    }
  }
}
