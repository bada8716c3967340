import { type Logger } from 'pino';

import { type RunLeases } from '../store/runLeases.ts';
import { RunMoved } from './liveRun.ts';

/** How often the ends of runs that other processes execute are looked for, in milliseconds, give or take a quarter. */
const LOOK_MS = 150;

/** How soon the first look follows the first wait, in milliseconds: the run may have ended meanwhile. */
const FIRST_LOOK_MS = 5;

/**
 * Waits for the ends of runs that this process does not execute: one look at the database for all of them, and none
 * while nobody waits. (The embedded database has no LISTEN.)
 */
export class RunWatch {
  readonly #leases: RunLeases;
  readonly #log: Logger;
  readonly #waiting = new Map<string, Set<Waiter>>();
  #looking = false;
  #stopped = false;

  constructor(options: { leases: RunLeases; log: Logger }) {
    this.#leases = options.leases;
    this.#log = options.log;
  }

  /** Resolves when the run is not active any more. @throws the signal's reason; RunMoved when this process ends. */
  async ended(runId: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.#stopped) throw new RunMoved(runId);
    await new Promise<void>((resolve, reject) => {
      const waiting = this.#waiting.get(runId) ?? new Set();
      this.#waiting.set(runId, waiting);
      const giveUp = () => {
        waiting.delete(waiter);
        if (waiting.size === 0) this.#waiting.delete(runId);
        reject(signal?.reason instanceof Error ? signal.reason : new Error('The wait was given up.'));
      };
      const waiter: Waiter = (problem) => {
        signal?.removeEventListener('abort', giveUp);
        if (problem === undefined) resolve();
        else reject(problem);
      };
      waiting.add(waiter);
      signal?.addEventListener('abort', giveUp, { once: true });
      if (!this.#looking) this.#lookSoon(FIRST_LOOK_MS);
    });
  }

  /** Ends every wait: this process goes away. */
  stop(): void {
    this.#stopped = true;
    for (const runId of [...this.#waiting.keys()]) this.#tell(runId, new RunMoved(runId));
  }

  #lookSoon(milliseconds: number): void {
    this.#looking = this.#waiting.size > 0;
    if (!this.#looking) return;
    const look = () => void this.#look().finally(() => this.#lookSoon(jittered(LOOK_MS)));
    setTimeout(look, milliseconds).unref();
  }

  async #look(): Promise<void> {
    const asked = [...this.#waiting.keys()];
    if (asked.length === 0) return;
    try {
      const active = await this.#leases.stillActive(asked);
      for (const runId of asked) if (!active.has(runId)) this.#tell(runId);
    } catch (error) {
      this.#log.warn({ err: error }, 'the ends of runs could not be looked for');
    }
  }

  #tell(runId: string, problem?: Error): void {
    const waiting = this.#waiting.get(runId) ?? [];
    this.#waiting.delete(runId);
    for (const waiter of waiting) waiter(problem);
  }
}

/** Told that the run is over, or why that will not be heard here. */
type Waiter = (problem?: Error) => void;

/** A time a quarter shorter to a quarter longer, so that processes do not move in step. */
export function jittered(milliseconds: number): number {
  return milliseconds * (0.75 + 0.5 * Math.random());
}
