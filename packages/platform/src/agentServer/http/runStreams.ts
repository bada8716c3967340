import { setTimeout as delay } from 'node:timers/promises';

import type { StreamModes } from '@slipway/contract/runApi/run';
import { EVENT_OF_MODE, parseEventName } from '@slipway/contract/runApi/stream';

import { encodeEvent, type EventReader } from '../../http/serverSentEvents.ts';
import { metadataFrame, type RunEnding } from '../runs/liveRun.ts';
import type { RunService } from '../runs/runService.ts';
import type { EventStore, StreamEvent } from '../store/eventStore.ts';
import type { RunRecord } from '../store/runRecords.ts';

/**
 * The stream of an existing run. It delivers what comes from now on (contract 001: "output produced before the join
 * is not delivered"). For a resumable run it delivers what followed `Last-Event-ID`, from any process.
 *
 * It begins with `metadata` like every stream. If another process executes a run that is not resumable, its events
 * are stored from now on; if the run has ended, there is no output to follow. The stream ends with the run, with
 * `error` if it failed.
 */
export async function joinStream(
  parts: { service: RunService; events: EventStore },
  run: RunRecord,
  options: { lastEventId: string | undefined; modes: StreamModes | undefined },
): Promise<EventReader> {
  const { service, events } = parts;
  const resumable = (run.kwargs as { resumable?: boolean }).resumable === true;
  const lastEventId = resumable ? Number.parseInt(options.lastEventId ?? '', 10) : NaN;
  const accepts = options.modes === undefined ? () => true : createEventFilter(options.modes);
  const live = service.findLive(run.run_id);
  if (live !== undefined) {
    const replay = () => events.readAll(run.run_id, lastEventId);
    return live.follow({ accepts, replay: Number.isNaN(lastEventId) ? undefined : replay });
  }
  const prologue = [metadataFrame(run.run_id, Math.max(run.attempt, 1))];
  if (!resumable) await events.requestStoring(run.run_id);
  return new StoredStream({
    store: events,
    runId: run.run_id,
    after: Number.isNaN(lastEventId) ? await events.newestId(run.run_id) : lastEventId,
    accepts,
    prologue,
    waitForEnding: (signal) => service.waitForEnding(run, signal),
  });
}

/** Accepts the events of the requested modes, and those that belong to every stream. */
function createEventFilter(modes: StreamModes): (event: string) => boolean {
  const names = new Set<string>([
    ...modes.map((mode) => EVENT_OF_MODE[mode]),
    'error',
    'metadata',
    'feedback',
  ]);
  return (event) => names.has(parseEventName(event).name);
}

/** How often to poll the events of a run that another process executes, in milliseconds. */
const POLL_INTERVAL_MS = 200;

interface StoredStreamOptions {
  readonly store: EventStore;
  readonly runId: string;
  readonly after: number;
  readonly accepts: (event: string) => boolean;
  readonly prologue: readonly Uint8Array[];
  /** Waits for the run's end, in this process or another. */
  readonly waitForEnding: (signal: AbortSignal) => Promise<RunEnding>;
}

/**
 * Reads a run that another process executes: the stored events after the last one seen, then new ones until the run
 * ends. It reads no faster than its client.
 */
class StoredStream implements EventReader {
  readonly #options: StoredStreamOptions;
  readonly #abort = new AbortController();
  readonly #frames: Uint8Array[];
  #after: number;
  #ending: RunEnding | undefined;
  #error: Error | undefined;
  #isFinished = false;

  constructor(options: StoredStreamOptions) {
    this.#options = options;
    this.#after = options.after;
    this.#frames = [...options.prologue];
    options.waitForEnding(this.#abort.signal).then(
      (ending) => {
        this.#ending = ending;
      },
      (error: unknown) => {
        this.#error = error instanceof Error ? error : new Error(String(error));
      },
    );
  }

  async next(idleMs: number): Promise<Uint8Array | undefined | 'idle'> {
    const deadline = performance.now() + idleMs;
    for (;;) {
      const frame = this.#frames.shift();
      if (frame !== undefined) return frame;
      if (this.#isFinished) return undefined;
      // Read before the events: if the run had ended by then, no event can follow these.
      const ending = this.#ending;
      const events = await this.#options.store.read(this.#options.runId, this.#after);
      for (const event of events) this.#addEvent(event);
      if (events.length > 0) continue;
      if (this.#error !== undefined) throw this.#error;
      if (ending !== undefined) this.#finish(ending);
      else if (performance.now() >= deadline) return 'idle';
      else await delay(POLL_INTERVAL_MS);
    }
  }

  close(): void {
    this.#isFinished = true;
    this.#frames.length = 0;
    this.#abort.abort();
  }

  #addEvent({ id, event, data }: StreamEvent): void {
    this.#after = id;
    if (this.#options.accepts(event)) this.#frames.push(encodeEvent(event, data, id));
  }

  #finish({ failure }: RunEnding): void {
    this.#isFinished = true;
    if (failure !== undefined) {
      this.#frames.push(encodeEvent('error', JSON.stringify(failure), this.#after + 1));
    }
  }
}
