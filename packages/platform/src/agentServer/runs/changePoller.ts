import type { Logger } from 'pino';

import type { RunStore } from '../store/runStore.ts';
import type { ThreadStore } from '../store/threadStore.ts';
import { RunMovedError } from './liveRun.ts';

/** How often to query, in milliseconds, give or take a quarter. */
const POLL_INTERVAL_MS = 150;

/** Delay of the first query after the first wait, in milliseconds: the change may already be there. */
const FIRST_POLL_DELAY_MS = 5;

interface ChangePollerOptions {
  /** Returns the awaited keys that have come, with one query for all of them. */
  readonly findChangedKeys: (asked: readonly string[]) => Promise<readonly string[]>;
  /** The error of a wait if this process ends. */
  readonly movedError: (key: string) => Error;
  readonly log: Logger;
}

/** Waits for changes by other processes, with one query for all waits. (The embedded database has no LISTEN.) */
export class ChangePoller {
  readonly #options: ChangePollerOptions;
  readonly #waiters = new Map<string, Set<Waiter>>();
  #isPolling = false;
  #stopped = false;

  constructor(options: ChangePollerOptions) {
    this.#options = options;
  }

  /** Resolves when the key has come. @throws the signal's reason, or the error of `movedError` if this process ends. */
  async waitFor(key: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.#stopped) throw this.#options.movedError(key);
    await new Promise<void>((resolve, reject) => {
      const waiters = this.#waiters.get(key) ?? new Set();
      this.#waiters.set(key, waiters);
      const onAbort = () => {
        waiters.delete(waiter);
        if (waiters.size === 0) this.#waiters.delete(key);
        reject(signal?.reason instanceof Error ? signal.reason : new Error('The wait was canceled.'));
      };
      const waiter: Waiter = (error) => {
        signal?.removeEventListener('abort', onAbort);
        if (error === undefined) resolve();
        else reject(error);
      };
      waiters.add(waiter);
      signal?.addEventListener('abort', onAbort, { once: true });
      if (!this.#isPolling) this.#schedulePoll(FIRST_POLL_DELAY_MS);
    });
  }

  /** Ends every wait, because this process ends. */
  stop(): void {
    this.#stopped = true;
    for (const key of [...this.#waiters.keys()]) this.#notify(key, this.#options.movedError(key));
  }

  #schedulePoll(milliseconds: number): void {
    this.#isPolling = this.#waiters.size > 0;
    if (!this.#isPolling) return;
    const poll = () => void this.#poll().finally(() => this.#schedulePoll(jittered(POLL_INTERVAL_MS)));
    setTimeout(poll, milliseconds).unref();
  }

  async #poll(): Promise<void> {
    const keys = [...this.#waiters.keys()];
    if (keys.length === 0) return;
    try {
      for (const key of await this.#options.findChangedKeys(keys)) this.#notify(key);
    } catch (error) {
      this.#options.log.warn({ err: error }, 'the work of other processes could not be read');
    }
  }

  #notify(key: string, error?: Error): void {
    const waiters = this.#waiters.get(key) ?? [];
    this.#waiters.delete(key);
    for (const waiter of waiters) waiter(error);
  }
}

/** Called when the key has come, or with the error that ends the wait. */
type Waiter = (problem?: Error) => void;

/** A duration up to a quarter shorter or longer, so that processes do not run in step. */
export function jittered(milliseconds: number): number {
  return milliseconds * (0.75 + 0.5 * Math.random());
}

/** Waits for the ends of runs in other processes, by run id. */
export function pollRunEnds(runs: RunStore, log: Logger): ChangePoller {
  return new ChangePoller({
    findChangedKeys: async (runIds) => {
      const active = await runs.filterActive(runIds);
      return runIds.filter((runId) => !active.has(runId));
    },
    movedError: (runId) => new RunMovedError(`Run ${runId}`),
    log,
  });
}

/** Waits until threads have changed since they were last seen ({@link threadVersionKey}), also by other processes. */
export function pollThreadChanges(threads: ThreadStore, log: Logger): ChangePoller {
  return new ChangePoller({
    findChangedKeys: async (keys) => {
      const threadIds = keys.map((key) => key.split(' ')[0] ?? '');
      const versions = await threads.versions(threadIds);
      return keys.filter(
        (key, index) =>
          key !== threadVersionKey(threadIds[index] ?? '', versions.get(threadIds[index] ?? '')),
      );
    },
    movedError: (key) => new RunMovedError(`Thread ${key.split(' ')[0] ?? ''}`),
    log,
  });
}

/** The key of a thread at a version ({@link ThreadStore.versions}). */
export function threadVersionKey(threadId: string, version: string | undefined): string {
  return `${threadId} ${version ?? ''}`;
}
