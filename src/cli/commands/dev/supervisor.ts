import { pause } from '../../../temporal/client/pause.ts';
import { untilAborted } from '../../interruption.ts';
import type { Service } from './service.ts';

export type SupervisorEvent =
  | { readonly what: 'died'; readonly name: string; readonly restartInMs: number }
  | { readonly what: 'restarted'; readonly name: string }
  | {
      readonly what: 'not_restarted';
      readonly name: string;
      readonly error: unknown;
      readonly restartInMs: number;
    };

interface SupervisorOptions<S extends Service> {
  readonly name: string;
  readonly start: () => Promise<S>;
  readonly onEvent: (event: SupervisorEvent) => void;
  /** Waits; the wait ends early when the signal is aborted. Default: real time. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Default: `Date.now`. */
  readonly now?: () => number;
}

/** A service that is started again when it dies. */
export interface Supervised<S extends Service> {
  readonly first: S;
  stop(): Promise<void>;
}

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 15_000;
/** A service that ran this long is well: when it dies, waiting begins anew. */
const WELL_AFTER_MS = 30_000;

/**
 * Starts a service, and again whenever it dies: after half a second, then twice as long each time, 15 s at most.
 * @throws what the first start throws; later starts are repeated.
 */
export async function supervise<S extends Service>(options: SupervisorOptions<S>): Promise<Supervised<S>> {
  const { name, start, onEvent, wait = pause, now = Date.now } = options;
  const stopping = new AbortController();
  const isStopping = (): boolean => stopping.signal.aborted;
  const first = await start();

  const keepRunning = async (): Promise<void> => {
    let service: S | undefined = first;
    let startedAt = now();
    let delayMs = FIRST_DELAY_MS;
    for (;;) {
      if (service !== undefined) {
        await Promise.race([service.exited, untilAborted(stopping.signal)]);
        if (isStopping()) return service.stop();
        if (now() - startedAt >= WELL_AFTER_MS) delayMs = FIRST_DELAY_MS;
        onEvent({ what: 'died', name, restartInMs: delayMs });
      }
      await wait(delayMs, stopping.signal);
      if (isStopping()) return;
      delayMs = Math.min(2 * delayMs, LONGEST_DELAY_MS);
      startedAt = now();
      try {
        service = await start();
        onEvent({ what: 'restarted', name });
      } catch (error) {
        service = undefined;
        if (isStopping()) return;
        onEvent({ what: 'not_restarted', name, error, restartInMs: delayMs });
      }
    }
  };
  const running = keepRunning();
  return {
    first,
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
