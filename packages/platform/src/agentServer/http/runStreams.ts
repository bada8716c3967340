import { EVENT_OF_MODE, parseEventName } from '@slipway/contract/runApi/stream';
import type { StreamModes } from '@slipway/contract/runApi/run';
import type { EventReader } from '../../http/serverSentEvents.ts';
import { metadataFrame } from '../runs/liveRun.ts';
import type { RunService } from '../runs/runService.ts';
import { StoredStream } from '../runs/storedStream.ts';
import type { EventStore } from '../store/eventStore.ts';
import type { RunRecord } from '../store/runRecords.ts';

/** What of a run's stream is asked for. */
interface JoinOptions {
  readonly lastEventId: string | undefined;
  readonly modes: StreamModes | undefined;
}

/**
 * The stream of an existing run: what comes from now on (contract 001: "output produced before the join is not
 * delivered"), or for a resumable run what followed `Last-Event-ID`, whichever process it was made in. It begins with
 * `metadata` like every stream. Of a run that is not resumable and that another process executes, events are stored from
 * now on; one that has ended has no output to follow. The stream ends when the run does, with `error` if it failed.
 */
export async function joinStream(
  parts: { service: RunService; events: EventStore },
  run: RunRecord,
  options: JoinOptions,
): Promise<EventReader> {
  const { service, events } = parts;
  const resumable = (run.kwargs as { resumable?: boolean }).resumable === true;
  const lastEventId = resumable ? Number.parseInt(options.lastEventId ?? '', 10) : NaN;
  const accepts = options.modes === undefined ? () => true : acceptorOf(options.modes);
  const live = service.live(run.run_id);
  if (live !== undefined) {
    const replay = () => events.readAll(run.run_id, lastEventId);
    return live.follow({ accepts, replay: Number.isNaN(lastEventId) ? undefined : replay });
  }
  const prologue = [metadataFrame(run.run_id, Math.max(run.attempt, 1))];
  if (!resumable) await events.want(run.run_id);
  return new StoredStream({
    store: events,
    runId: run.run_id,
    after: Number.isNaN(lastEventId) ? await events.newestId(run.run_id) : lastEventId,
    accepts,
    prologue,
    ending: (signal) => service.ending(run, signal),
  });
}

/** Only the events of the modes that were asked for, and those that belong to every stream. */
function acceptorOf(modes: StreamModes): (event: string) => boolean {
  const names = new Set<string>([
    ...modes.map((mode) => EVENT_OF_MODE[mode]),
    'error',
    'metadata',
    'feedback',
  ]);
  return (event) => names.has(parseEventName(event).name);
}
