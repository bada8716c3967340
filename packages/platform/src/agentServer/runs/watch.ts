import type { Logger } from 'pino';

import type { RunRecords } from '../store/runRecords.ts';
import type { ThreadStore } from '../store/threadStore.ts';
import { Moved } from './liveRun.ts';

/** How often to query, in milliseconds, give or take a quarter. */
const LOOK_MS = 150;

/** Delay of the first query after the first wait, in milliseconds: the change may already be there. */
const FIRST_LOOK_MS = 5;

interface WatchOptions {
  /** Returns the awaited keys that have come, with one query for all of them. */
  readonly look: (asked: readonly string[]) => Promise<readonly string[]>;
  /** The error of a wait if this process ends. */
  readonly moved: (key: string) => Error;
  readonly log: Logger;
}

/**
 * Waits for changes that other processes make in the database, with one query for all waits. (The embedded database
 * has no LISTEN.)
 */
export class Watch {
  readonly #options: WatchOptions;
  readonly #waiting = new Map<string, Set<Waiter>>();
  #looking = false;
  #stopped = false;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** Resolves when the key has come. @throws the signal's reason, or the error of `moved` if this process ends. */
  async come(key: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.#stopped) throw this.#options.moved(key);
    await new Promise<void>((resolve, reject) => {
      const waiting = this.#waiting.get(key) ?? new Set();
      this.#waiting.set(key, waiting);
      const giveUp = () => {
        waiting.delete(waiter);
        if (waiting.size === 0) this.#waiting.delete(key);
        reject(signal?.reason instanceof Error ? signal.reason : new Error('The wait was canceled.'));
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

  /** Ends every wait, because this process ends. */
  stop(): void {
    this.#stopped = true;
    for (const key of [...this.#waiting.keys()]) this.#notify(key, this.#options.moved(key));
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
      for (const key of await this.#options.look(asked)) this.#notify(key);
    } catch (error) {
      this.#options.log.warn({ err: error }, 'the work of other processes could not be read');
    }
  }

  #notify(key: string, problem?: Error): void {
    const waiting = this.#waiting.get(key) ?? [];
    this.#waiting.delete(key);
    for (const waiter of waiting) waiter(problem);
  }
}

/** Called when the key has come, or with the error that ends the wait. */
type Waiter = (problem?: Error) => void;

/** A duration up to a quarter shorter or longer, so that processes do not run in step. */
export function jittered(milliseconds: number): number {
  return milliseconds * (0.75 + 0.5 * Math.random());
}

/** Waits for the ends of runs in other processes, by run id. */
export function watchEnds(records: RunRecords, log: Logger): Watch {
  return new Watch({
    look: async (asked) => {
      const active = await records.stillActive(asked);
      return asked.filter((runId) => !active.has(runId));
    },
    moved: (runId) => new Moved(`Run ${runId}`),
    log,
  });
}

/** Waits until threads have changed since they were last seen ({@link asSeen}), also by other processes. */
export function watchThreads(threads: ThreadStore, log: Logger): Watch {
  return new Watch({
    look: async (asked) => {
      const seen = asked.map((key) => key.split(' ')[0] ?? '');
      const versions = await threads.versions(seen);
      return asked.filter((key, index) => key !== asSeen(seen[index] ?? '', versions.get(seen[index] ?? '')));
    },
    moved: (key) => new Moved(`Thread ${key.split(' ')[0] ?? ''}`),
    log,
  });
}

/** The key of a thread at a version ({@link ThreadStore.versions}). */
export function asSeen(threadId: string, version: string | undefined): string {
  return `${threadId} ${version ?? ''}`;
}
