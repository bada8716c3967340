import { EVENT_OF_MODE, parseEventName } from '../../../contract/runApi/stream.ts';
import { type StreamModes } from '../../../contract/runApi/run.ts';
import { type EventReader } from '../../http/serverSentEvents.ts';
import { EventChannel } from '../runs/eventChannel.ts';
import { metadataFrame, RunMoved } from '../runs/liveRun.ts';
import { type RunService } from '../runs/runService.ts';
import { StoredStream } from '../runs/storedStream.ts';
import { type EventStore } from '../store/eventStore.ts';
import { type RunRecord } from '../store/runStore.ts';

/** What of a run's stream is asked for. */
interface JoinOptions {
  readonly lastEventId: string | undefined;
  readonly modes: StreamModes | undefined;
  readonly signal: AbortSignal;
}

/**
 * The stream of an existing run: what comes from now on (contract 001: "output produced before the join is not
 * delivered"), or for a resumable run what followed `Last-Event-ID`, whichever process it was made in. It begins with
 * `metadata` like every stream. A run that is not resumable and has ended, or is executed by another process, has no
 * output to follow: its stream ends when it does, with `error` if it failed.
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
    return live.follow({ accepts, ...(!Number.isNaN(lastEventId) && { replay }) });
  }
  const prologue = [metadataFrame(run.run_id, Math.max(run.attempt, 1))];
  if (!resumable) return untilItsEnd(service, run, prologue, options.signal);
  return new StoredStream({
    store: events,
    runId: run.run_id,
    after: Number.isNaN(lastEventId) ? await events.newestId(run.run_id) : lastEventId,
    accepts,
    prologue,
    ending: (signal) => service.ending(run, signal),
  });
}

/** A stream without output. */
function untilItsEnd(
  service: RunService,
  run: RunRecord,
  prologue: readonly Uint8Array[],
  signal: AbortSignal,
): EventReader {
  const channel = new EventChannel();
  const subscriber = channel.subscribe();
  subscriber.release(prologue);
  void service
    .ending(run, signal)
    .then(
      ({ failure }) => {
        if (failure !== undefined) channel.publish('error', JSON.stringify(failure));
      },
      (error: unknown) => {
        if (signal.aborted) return;
        if (error instanceof RunMoved) {
          channel.breakOff(error);
          return;
        }
        const message = error instanceof Error ? error.message : String(error);
        channel.publish('error', JSON.stringify({ error: 'JoinFailed', message }));
      },
    )
    .finally(() => channel.close());
  return subscriber;
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
