import { setImmediate as nextTurn } from 'node:timers/promises';

import { type Lease, retryDuringOutage } from '../../store/databaseOutage.ts';
import type { CheckpointRows, Fence } from './fencedWrites.ts';

export interface RunWriterOptions {
  /** The run's own thread. A node may also call a graph with another one. */
  readonly threadId: string;
  readonly fence: Fence;
  /** While it holds, writes and reads are retried during a database outage; after that, the run is lost. */
  readonly lease: Lease;
  /** Called when another process owns the run, or may own it. */
  readonly onRunLost: () => void;
  /** Whether its thread has no checkpoint, so that nothing needs to be read before the first write. */
  readonly isThreadEmpty: boolean;
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
  usesDefaultStart = false;
  #isThreadEmpty: boolean;
  #inputId: string | undefined;
  #batch: CheckpointRows[] = [];
  #stored: Promise<unknown> = Promise.resolve();
  #flushNow: () => void = () => undefined;
  readonly #options: RunWriterOptions;
  readonly #write: (rows: CheckpointRows, fence: Fence) => Promise<boolean>;

  /** `write` stores rows if the fence holds. */
  constructor(options: RunWriterOptions, write: (rows: CheckpointRows, fence: Fence) => Promise<boolean>) {
    this.fence = options.fence;
    this.#isThreadEmpty = options.isThreadEmpty;
    this.#options = options;
    this.#write = write;
  }

  /** Resolves when the rows are stored, or at once if the run need not wait for them ({@link usesDefaultStart}). */
  async store(rows: CheckpointRows): Promise<void> {
    if (rows.threadId === this.#options.threadId) this.#isThreadEmpty = false;
    const isFirstStep = this.#isFirstStep(rows);
    this.#batch.push(rows);
    if (this.#batch.length === 1) {
      const batchDelay = isFirstStep
        ? Promise.race([nextTurn(), new Promise<void>((resolve) => (this.#flushNow = resolve))])
        : undefined;
      // A failure stays: rows after missing rows are not stored.
      this.#stored = this.#stored.then(() => batchDelay).then(() => this.#storeBatch());
      this.#stored.catch(() => undefined);
    }
    if (isFirstStep) return;
    this.#flushNow();
    await this.#stored;
  }

  /** Reads a thread after the run's pending writes. `undefined`: the run's thread has no checkpoint. */
  async read<T>(threadId: string, work: () => Promise<T>): Promise<T | undefined> {
    if (this.#isThreadEmpty && threadId === this.#options.threadId) return undefined;
    await this.#stored;
    return retryDuringOutage(this.#options.lease, work, this.#options.onRunLost);
  }

  /** Resolves when no write is pending, with the error if one failed. */
  async waitUntilSettled(): Promise<unknown> {
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
    const { fence, lease, onRunLost } = this.#options;
    for (const rows of mergeByThread(batch)) {
      if (await retryDuringOutage(lease, () => this.#write(rows, fence), onRunLost)) continue;
      onRunLost();
      throw new Error(`Run ${fence.runId} is executed elsewhere now; nothing more of it is stored here.`);
    }
  }

  /** Whether rows are the run's input, or the output of `__start__`. */
  #isFirstStep({ threadId, checkpoints: [checkpoint], writes: [write] }: CheckpointRows): boolean {
    if (!this.usesDefaultStart || threadId !== this.#options.threadId) return false;
    if (checkpoint?.isInput === true) this.#inputId ??= checkpoint.id;
    const after =
      checkpoint?.isInput === true ? checkpoint.id : (checkpoint?.parentId ?? write?.checkpointId);
    return after !== undefined && after === this.#inputId;
  }
}

function mergeByThread(batch: readonly CheckpointRows[]): CheckpointRows[] {
  return [...new Set(batch.map(({ threadId }) => threadId))].map((threadId) => {
    const ofThread = batch.filter((rows) => rows.threadId === threadId);
    return {
      threadId,
      checkpoints: ofThread.flatMap(({ checkpoints }) => checkpoints),
      values: ofThread.flatMap(({ values }) => values),
      writes: ofThread.flatMap(({ writes }) => writes),
    };
  });
}
