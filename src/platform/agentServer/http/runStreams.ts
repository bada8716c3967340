import { EVENT_OF_MODE, parseEventName } from '../../../contract/runApi/stream.ts';
import { type StreamModes } from '../../../contract/runApi/run.ts';
import { EventChannel, type Subscriber } from '../runs/eventChannel.ts';
import { metadataFrame, RunMoved } from '../runs/liveRun.ts';
import { type RunService } from '../runs/runService.ts';
import { type RunRecord } from '../store/runStore.ts';

/**
 * The stream of an existing run: what comes from now on (contract 001: "output produced before the join is not
 * delivered"), or for a resumable run what followed `Last-Event-ID`. It begins with `metadata` like every stream. A
 * run that has ended, or that another process executes, has no output to follow: its stream ends when it does, with
 * `error` if it failed.
 */
export async function joinStream(
  service: RunService,
  run: RunRecord,
  options: { lastEventId: string | undefined; modes: StreamModes | undefined; signal: AbortSignal },
): Promise<Subscriber> {
  const live = service.live(run.run_id);
  if (live !== undefined) {
    const lastEventId = Number.parseInt(options.lastEventId ?? '', 10);
    return live.follow({
      ...(Number.isNaN(lastEventId) ? {} : { lastEventId }),
      ...(options.modes !== undefined && { accepts: acceptorOf(options.modes) }),
    });
  }
  const channel = new EventChannel({ resumable: false });
  const subscriber = channel.subscribe();
  subscriber.release([metadataFrame(run.run_id, Math.max(run.attempt, 1))]);
  void service
    .ending(run, options.signal)
    .then(
      ({ failure }) => {
        if (failure !== undefined) channel.publish('error', JSON.stringify(failure));
      },
      (error: unknown) => {
        if (options.signal.aborted) return;
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
