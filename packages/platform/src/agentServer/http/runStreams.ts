import { setTimeout as delay } from 'node:timers/promises';

import type { StreamModes } from '@slipway/contract/runApi/run';
import { EVENT_OF_MODE, parseEventName } from '@slipway/contract/runApi/stream';

import { toError } from '../../errors.ts';
import { encodeEvent, type EventReader, readGenerated } from '../../http/serverSentEvents.ts';
import { metadataFrame, type RunEnding } from '../runs/liveRun.ts';
import type { RunService } from '../runs/runService.ts';
import type { EventStore } from '../store/eventStore.ts';
import type { RunRecord } from '../store/agentDatabase.ts';

/**
 * The stream of an existing run. It delivers what comes from now on (contract 001: "output produced before the join
 * is not delivered"). For a resumable run it delivers what followed `Last-Event-ID`, from any process.
 *
 * It begins with `metadata` and the feedback links, like every stream. If another process executes a run that is not
 * resumable, its events are stored from now on; if the run has ended, there is no output to follow. The stream ends with
 * the run, with `error` if it failed.
 */
export async function joinStream(
  parts: { service: RunService; events: EventStore },
  run: RunRecord,
  options: { lastEventId: string | undefined; modes: StreamModes | undefined },
): Promise<EventReader> {
  const { service, events } = parts;
  const resumable = (run.kwargs as { resumable?: boolean }).resumable === true;
  const seen = EVENT_ID.test(options.lastEventId ?? '') ? Number(options.lastEventId) : NaN;
  const lastEventId = resumable ? seen : NaN;
  const accepts = options.modes === undefined ? () => true : createEventFilter(options.modes);
  const live = service.findLive(run.run_id);
  if (live !== undefined) {
    const replay = () => events.readAll(run.run_id, lastEventId);
    return live.follow({ accepts, replay: Number.isNaN(lastEventId) ? undefined : replay });
  }
  if (!resumable) await events.requestStoring(run.run_id);
  const after = Number.isNaN(lastEventId) ? await events.newestId(run.run_id) : lastEventId;
  return readGenerated((signal) => readStoredEvents(parts, run, { after, seen, accepts, signal }));
}

/** An id that the database can compare; -1 is before all. Any other text counts as absent. */
const EVENT_ID = /^-?\d{1,15}$/;

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

/** The stream of a run that another process executes: the stored events after the last one seen, then new ones. */
async function* readStoredEvents(
  { service, events }: { service: RunService; events: EventStore },
  run: RunRecord,
  options: { after: number; seen: number; accepts: (event: string) => boolean; signal: AbortSignal },
): AsyncGenerator<Uint8Array, void> {
  const { seen, accepts, signal } = options;
  let { after } = options;
  const end: { ending?: RunEnding; error?: Error } = {};
  service.waitForEnding(run, signal).then(
    (ending) => (end.ending = ending),
    (error: unknown) => (end.error = toError(error)),
  );
  yield metadataFrame(run.run_id, Math.max(run.attempt, 1));
  const links = await service.createFeedbackLinks(run.run_id, run.kwargs);
  if (links !== undefined) yield encodeEvent('feedback', JSON.stringify(links));
  while (!signal.aborted) {
    // Read before the events: if the run had ended by then, no event can follow these.
    const { ending, error } = end;
    const stored = await events.read(run.run_id, after);
    for (const { id, event, data } of stored) {
      after = id;
      if (accepts(event)) yield encodeEvent(event, data, id);
    }
    if (stored.length > 0) continue;
    if (error !== undefined) throw error;
    if (ending !== undefined) {
      const id = Math.max(after, seen || 0) + 1;
      if (ending.failure !== undefined) yield encodeEvent('error', JSON.stringify(ending.failure), id);
      return;
    }
    await delay(POLL_INTERVAL_MS);
  }
}
