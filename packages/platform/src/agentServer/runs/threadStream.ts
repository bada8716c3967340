import type { ThreadStreamMode } from '@slipway/contract/runApi/stream';
import { encodeEvent, eventNameOf, type EventReader, withId } from '../../http/serverSentEvents.ts';
import type { RunRecord } from '../store/runRecords.ts';
import { READER_BYTES, slowReader } from './eventChannel.ts';
import type { LiveRun } from './liveRun.ts';

/** How a {@link ThreadStream} observes its thread. */
export interface ThreadSight {
  /** Calls `hearer` for each run that this process gets. Returns the function that ends that. */
  readonly hear: (hearer: (live: Pick<LiveRun, 'record'>) => void) => () => void;
  /** The sequence of the thread's newest run; 0 before the first run. */
  readonly newest: () => Promise<bigint>;
  /** The thread's active runs, oldest first. */
  readonly active: () => Promise<RunRecord[]>;
  /** The thread's runs after a sequence, oldest first. */
  readonly behind: (sequence: bigint) => Promise<RunRecord[]>;
  /** The stream of a run, after an event of it if one is given. */
  readonly follow: (run: RunRecord, lastEventId: string | undefined) => Promise<EventReader>;
  /** Resolves when any process has changed the thread since the last call, with whether it still exists. */
  readonly changed: (signal: AbortSignal) => Promise<boolean>;
  /** The thread's state as JSON text, with the id of its checkpoint. */
  readonly state: () => Promise<{ json: string; checkpointId: unknown }>;
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
  readonly #sight: ThreadSight;
  readonly #modes: ReadonlySet<ThreadStreamMode>;
  readonly #gone = new AbortController();
  readonly #seen = new Set<string>();
  readonly #unhear: () => void;
  #waiting: Followed[] = [];
  #current: Followed | undefined;
  #frames: Uint8Array[] = [];
  #behind = 0n;
  #stateAt: unknown;
  #look = false;
  #removed = false;
  #problem: Error | undefined;
  #over = false;
  #wake: (() => void) | undefined;

  constructor(sight: ThreadSight, modes: readonly ThreadStreamMode[]) {
    this.#sight = sight;
    this.#modes = new Set(modes);
    this.#unhear = sight.hear((live) => this.#hear(live));
  }

  /** Begins with the active runs, or after the last event seen. */
  async begin(lastEventId: string | undefined): Promise<this> {
    const [, sequence, eventId] = /^(\d{1,18})\.(\d{1,15}|end)$/.exec(lastEventId ?? '') ?? [];
    if (sequence === undefined) {
      this.#behind = await this.#sight.newest();
      for (const run of await this.#sight.active()) this.#add(run, undefined);
    } else {
      this.#behind = BigInt(sequence) - 1n;
      for (const run of await this.#sight.behind(this.#behind)) {
        const isLast = run.sequence === sequence;
        if (isLast && eventId === 'end') this.#seen.add(run.run_id);
        else this.#add(run, isLast ? eventId : '0');
      }
    }
    if (this.#modes.has('state_update')) this.#stateAt = (await this.#sight.state()).checkpointId;
    this.#watch();
    return this;
  }

  async next(idleMs: number): Promise<Uint8Array | undefined | 'idle'> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame !== undefined) return frame;
      if (this.#over) return undefined;
      if (this.#problem !== undefined) throw this.#problem;
      if (this.#current === undefined && this.#look) await this.#lookAgain();
      this.#current ??= this.#waiting.shift();
      if (this.#current !== undefined) {
        const read = await (await this.#current.reader).next(idleMs);
        if (read === 'idle') return 'idle';
        if (read === undefined) await this.#end(this.#current);
        else this.#take(this.#current, read);
      } else if (this.#frames.length > 0 || this.#look) continue;
      else if (this.#removed) return undefined;
      else if (!(await this.#somethingNew(idleMs))) return 'idle';
    }
  }

  leave(): void {
    this.#over = true;
    this.#unhear();
    this.#gone.abort();
    for (const { reader } of [this.#current, ...this.#waiting].filter((each) => each !== undefined)) {
      reader.then(
        (open) => open.leave(),
        () => undefined,
      );
    }
    this.#waiting = [];
    this.#wake?.();
  }

  #hear(live: Pick<LiveRun, 'record'>): void {
    // The limit for a slow reader covers all runs together.
    const bytes = this.#waiting.reduce((sum, { open }) => sum + (open?.queuedBytes ?? 0), 0);
    if (bytes <= READER_BYTES) {
      // Another process may have an earlier run.
      this.#look = true;
      this.#add(live.record, '0');
      return;
    }
    this.leave();
    this.#frames = [slowReader(READER_BYTES)];
  }

  #add(run: RunRecord, lastEventId: string | undefined): void {
    if (this.#over || this.#seen.has(run.run_id)) return;
    this.#seen.add(run.run_id);
    // Opened at once, so that events published before its turn are queued for this reader.
    const followed: Followed = {
      run,
      reader: this.#sight.follow(run, lastEventId),
      open: undefined,
    };
    followed.reader.then(
      (open) => (followed.open = open),
      () => undefined,
    );
    this.#waiting.push(followed);
    this.#waiting.sort((left, right) => Number(BigInt(left.run.sequence) - BigInt(right.run.sequence)));
    this.#wake?.();
  }

  #take({ run }: Followed, frame: Uint8Array): void {
    const isTold =
      this.#modes.has('run_modes') || (this.#modes.has('lifecycle') && eventNameOf(frame) === 'metadata');
    if (isTold) this.#frames.push(withId(frame, (id) => `${run.sequence}.${id}`));
  }

  async #end({ run }: Followed): Promise<void> {
    this.#current = undefined;
    const sequence = BigInt(run.sequence);
    if (sequence > this.#behind) this.#behind = sequence;
    if (this.#modes.has('run_modes') || this.#modes.has('lifecycle')) {
      const done = JSON.stringify({ status: 'run_done', run_id: run.run_id });
      this.#frames.push(encodeEvent('metadata', done, `${run.sequence}.end`));
    }
    await this.#tellState();
  }

  async #tellState(): Promise<void> {
    if (!this.#modes.has('state_update')) return;
    const { json, checkpointId } = await this.#sight.state();
    if (checkpointId === this.#stateAt) return;
    this.#stateAt = checkpointId;
    this.#frames.push(encodeEvent('state_update', json));
  }

  async #lookAgain(): Promise<void> {
    this.#look = false;
    for (const run of await this.#sight.behind(this.#behind)) this.#add(run, '0');
    if (this.#waiting.length === 0 && !this.#removed) await this.#tellState();
  }

  #watch(): void {
    this.#sight.changed(this.#gone.signal).then(
      (isThere) => {
        this.#look = true;
        this.#removed = !isThere;
        this.#wake?.();
        if (isThere) this.#watch();
      },
      (error: unknown) => {
        if (this.#over) return;
        this.#problem = error instanceof Error ? error : new Error(String(error));
        this.#wake?.();
      },
    );
  }

  async #somethingNew(idleMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), idleMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }
}

/** A run that the stream follows now or later. */
interface Followed {
  readonly run: RunRecord;
  readonly reader: Promise<EventReader>;
  open: EventReader | undefined;
}
