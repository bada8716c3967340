import type { ThreadStreamMode } from '@slipway/contract/runApi/stream';
import { toError } from '../../errors.ts';
import { encodeEvent, eventNameOf, type EventReader, withId } from '../../http/serverSentEvents.ts';
import type { RunRecord } from '../store/agentDatabase.ts';
import { READER_BUFFER_MAX_BYTES, slowReaderFrame } from './eventChannel.ts';
import type { LiveRun } from './liveRun.ts';

/** How a {@link ThreadStream} observes its thread. */
export interface ThreadSource {
  /** Calls `listener` for each run that this process accepts or claims. Returns the function that unsubscribes it. */
  readonly onNewRun: (listener: (live: Pick<LiveRun, 'record'>) => void) => () => void;
  /** The sequence of the thread's newest run; 0 before the first run. */
  readonly newestSequence: () => Promise<bigint>;
  readonly activeRuns: () => Promise<RunRecord[]>;
  /** The first of the due runs after a sequence, oldest first. */
  readonly runsAfter: (sequence: bigint) => Promise<RunRecord[]>;
  /** The stream of a run, after an event of it if one is given. */
  readonly openRunStream: (run: RunRecord, lastEventId: string | undefined) => Promise<EventReader>;
  /** Resolves when any process has changed the thread since the last call, with whether it still exists. */
  readonly waitForChange: (signal: AbortSignal) => Promise<boolean>;
  /** The thread's state as JSON text, with the id of its checkpoint; `undefined` if the thread was removed. */
  readonly readState: () => Promise<{ json: string; checkpointId: unknown } | undefined>;
}

/**
 * The stream of a thread: its runs one after another, until the reader leaves. Ids are `<sequence of the run>.<id of
 * the event in its run>`, so that a returning reader continues after the last event it saw. It gets the events in
 * between as far as they were kept (resumable runs). Each run ends with a `metadata` event whose `status` is
 * `run_done`.
 *
 * The events are those of the public Python server: `{status: "run_done", run_id}` under `metadata`, and `{state,
 * thread_id}` under `state_update`. Decision: that server reports only manually updated states; this one also reports
 * the states that runs make.
 *
 * A reader that falls more than 8 MiB behind is cut off, like a run's reader.
 */
export class ThreadStream implements EventReader {
  readonly #source: ThreadSource;
  readonly #modes: ReadonlySet<ThreadStreamMode>;
  readonly #abort = new AbortController();
  readonly #seenRunIds = new Set<string>();
  readonly #unsubscribe: () => void;
  #queuedRuns: FollowedRun[] = [];
  #currentRun: FollowedRun | undefined;
  #frames: Uint8Array[] = [];
  #endedThrough = 0n;
  #lastFoundId: string | undefined;
  #lastCheckpointId: unknown;
  #needsQuery = false;
  #isThreadRemoved = false;
  #error: Error | undefined;
  #isClosed = false;
  #wake: (() => void) | undefined;

  constructor(source: ThreadSource, modes: readonly ThreadStreamMode[]) {
    this.#source = source;
    this.#modes = new Set(modes);
    this.#unsubscribe = source.onNewRun((live) => this.#handleNewRun(live));
  }

  /** Begins with the active runs, or after the last event seen. */
  async start(lastEventId: string | undefined): Promise<this> {
    const [, sequence, eventId] = /^(\d{1,18})\.(\d{1,15}|end)$/.exec(lastEventId ?? '') ?? [];
    if (sequence === undefined) {
      this.#endedThrough = await this.#source.newestSequence();
      for (const run of await this.#source.activeRuns()) this.#addRun(run, undefined);
    } else {
      this.#endedThrough = BigInt(sequence) - 1n;
      for (const run of await this.#findRuns()) {
        const isLast = run.sequence === sequence;
        if (isLast && eventId === 'end') this.#seenRunIds.add(run.run_id);
        else this.#addRun(run, isLast ? eventId : '0');
      }
    }
    if (this.#modes.has('state_update'))
      this.#lastCheckpointId = (await this.#source.readState())?.checkpointId;
    this.#watchThread();
    return this;
  }

  async next(): Promise<Uint8Array | undefined> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame !== undefined) return frame;
      if (this.#isClosed) return undefined;
      if (this.#error !== undefined) throw this.#error;
      if (this.#currentRun === undefined && this.#needsQuery) await this.#queryNewRuns();
      this.#currentRun ??= this.#queuedRuns.shift();
      if (this.#currentRun !== undefined) {
        const read = await (await this.#currentRun.reader).next();
        if (read === undefined) await this.#finishRun(this.#currentRun);
        else this.#forwardFrame(this.#currentRun, read);
      } else if (this.#frames.length > 0 || this.#needsQuery) continue;
      else if (this.#isThreadRemoved) return undefined;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#unsubscribe();
    this.#abort.abort();
    for (const { reader } of [this.#currentRun, ...this.#queuedRuns].filter((each) => each !== undefined)) {
      reader.then(
        (open) => open.close(),
        () => undefined,
      );
    }
    this.#queuedRuns = [];
    this.#wake?.();
  }

  #handleNewRun(live: Pick<LiveRun, 'record'>): void {
    // The limit for a slow reader covers all runs together.
    const bytes = this.#queuedRuns.reduce((sum, { openReader: open }) => sum + (open?.queuedBytes ?? 0), 0);
    if (bytes <= READER_BUFFER_MAX_BYTES) {
      // Another process may have an earlier run.
      this.#needsQuery = true;
      this.#addRun(live.record, '0');
      return;
    }
    this.close();
    this.#frames = [slowReaderFrame(READER_BUFFER_MAX_BYTES)];
  }

  /** Adds a run, unless it is delayed: it takes its place in the thread's order when it is due. */
  #addRun(run: RunRecord, lastEventId: string | undefined): void {
    if (this.#isClosed || run.start_after !== null || this.#seenRunIds.has(run.run_id)) return;
    this.#seenRunIds.add(run.run_id);
    // Opened at once, so that events published before its turn are queued for this reader.
    const followed: FollowedRun = {
      run,
      reader: this.#source.openRunStream(run, lastEventId),
      openReader: undefined,
    };
    followed.reader.then(
      (open) => (followed.openReader = open),
      () => undefined,
    );
    this.#queuedRuns.push(followed);
    this.#queuedRuns.sort((left, right) => Number(BigInt(left.run.sequence) - BigInt(right.run.sequence)));
    this.#wake?.();
  }

  #forwardFrame({ run }: FollowedRun, frame: Uint8Array): void {
    const isForwarded =
      this.#modes.has('run_modes') || (this.#modes.has('lifecycle') && eventNameOf(frame) === 'metadata');
    if (isForwarded) this.#frames.push(withId(frame, (id) => `${run.sequence}.${id}`));
  }

  async #finishRun({ run }: FollowedRun): Promise<void> {
    this.#currentRun = undefined;
    const sequence = BigInt(run.sequence);
    if (sequence > this.#endedThrough) this.#endedThrough = sequence;
    // More may follow it, before those that this process accepted.
    if (run.run_id === this.#lastFoundId) this.#needsQuery = true;
    if (this.#modes.has('run_modes') || this.#modes.has('lifecycle')) {
      const done = JSON.stringify({ status: 'run_done', run_id: run.run_id });
      this.#frames.push(encodeEvent('metadata', done, `${run.sequence}.end`));
    }
    await this.#sendStateUpdate();
  }

  async #sendStateUpdate(): Promise<void> {
    if (!this.#modes.has('state_update')) return;
    const state = await this.#source.readState();
    if (state === undefined || state.checkpointId === this.#lastCheckpointId) return;
    this.#lastCheckpointId = state.checkpointId;
    this.#frames.push(encodeEvent('state_update', state.json));
  }

  async #queryNewRuns(): Promise<void> {
    this.#needsQuery = false;
    for (const run of await this.#findRuns()) this.#addRun(run, '0');
    if (this.#queuedRuns.length === 0 && !this.#isThreadRemoved) await this.#sendStateUpdate();
  }

  async #findRuns(): Promise<RunRecord[]> {
    const found = await this.#source.runsAfter(this.#endedThrough);
    this.#lastFoundId = found.at(-1)?.run_id;
    return found;
  }

  #watchThread(): void {
    this.#source.waitForChange(this.#abort.signal).then(
      (isThere) => {
        this.#needsQuery = true;
        this.#isThreadRemoved = !isThere;
        this.#wake?.();
        if (isThere) this.#watchThread();
      },
      (error: unknown) => {
        if (this.#isClosed) return;
        this.#error = toError(error);
        this.#wake?.();
      },
    );
  }
}

interface FollowedRun {
  readonly run: RunRecord;
  readonly reader: Promise<EventReader>;
  openReader: EventReader | undefined;
}
