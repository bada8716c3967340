import type { LiveRun } from './liveRun.ts';

/** Who wants to hear of the runs of a thread as soon as this process has them, before they begin. */
export class NewRuns {
  readonly #hearers = new Map<string, Set<(live: LiveRun) => void>>();

  /** Hears of a thread's runs from now on. Answers what ends that. */
  hear(threadId: string, hearer: (live: LiveRun) => void): () => void {
    const hearers = this.#hearers.get(threadId) ?? new Set();
    this.#hearers.set(threadId, hearers);
    hearers.add(hearer);
    return () => {
      hearers.delete(hearer);
      if (hearers.size === 0 && this.#hearers.get(threadId) === hearers) this.#hearers.delete(threadId);
    };
  }

  /** Tells of a run that was accepted, or taken up. */
  tell(live: LiveRun): void {
    for (const hearer of this.#hearers.get(live.threadId) ?? []) hearer(live);
  }
}
