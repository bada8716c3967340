import type { HookEvents } from '../../domain/hooks/hookState.ts';
import { hookEventsQuery } from '../../messages/hooks.ts';
import type { TemporalConnection } from '../../temporal/client/connection.ts';
import { type ListedHook, listHooks } from '../../temporal/client/hooks/hookClient.ts';
import { hookOfTarget, inOrder, type TargetHook } from '../../temporal/client/hooks/targetHooks.ts';
import { pause } from '../../temporal/client/pause.ts';
import { HistoryNews } from '../../temporal/client/release/historyNews.ts';

const LIST_EVERY_MS = 5_000;
/** The shortest time between two reads of a hook, in milliseconds: a flood of events costs one read each second. */
const SPACING_MS = 1_000;
const HOOK_WAIT_MS = 60_000;
const CALL_TIMEOUT_MS = 5_000;

interface Follower {
  readonly targetId: string;
  readonly listener: (hooks: readonly TargetHook[]) => void;
}

interface Watched {
  readonly hook: ListedHook;
  readonly stopping: AbortController;
  /** `undefined`: not read yet. `null`: it does not answer. */
  events: HookEvents | null | undefined;
}

/** The hooks of the followed targets. Each is watched once: one query for each change, by its history. */
export class HookWatches {
  readonly #temporal: TemporalConnection;
  readonly #followers = new Set<Follower>();
  #watched = new Map<string, Watched>();
  #listed: readonly ListedHook[] = [];
  #listing: AbortController | undefined;

  constructor(temporal: TemporalConnection) {
    this.#temporal = temporal;
  }

  /** Calls back with the hooks of a target when one of them changes. @returns a function that ends that. */
  follow(targetId: string, listener: Follower['listener']): () => void {
    const follower = { targetId, listener };
    this.#followers.add(follower);
    this.#keep(this.#listed);
    this.#tell(follower);
    if (this.#listing === undefined) {
      this.#listing = new AbortController();
      void this.#keepListing(this.#listing.signal);
    }
    return () => {
      this.#followers.delete(follower);
      if (this.#followers.size > 0) return;
      this.#listing?.abort();
      this.#listing = undefined;
      this.#listed = [];
      this.#keep([]);
    };
  }

  async #keepListing(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const hooks = await listHooks(this.#temporal).catch(() => undefined);
      // If Temporal does not answer, the targets' snapshots show it.
      this.#listed = hooks ?? this.#listed;
      this.#keep(this.#listed);
      await pause(LIST_EVERY_MS, signal);
    }
  }

  #keep(listed: readonly ListedHook[]): void {
    const followed = new Set([...this.#followers].map(({ targetId }) => targetId));
    const before = this.#watched;
    this.#watched = new Map();
    for (const hook of inOrder(listed)) {
      if (!hook.targets.some((targetId) => followed.has(targetId))) continue;
      const known = before.get(hook.workflowId);
      before.delete(hook.workflowId);
      const watched = known ?? { hook, stopping: new AbortController(), events: undefined };
      this.#watched.set(hook.workflowId, watched);
      if (known === undefined) void this.#watch(watched);
    }
    for (const { stopping } of before.values()) stopping.abort();
    if (before.size > 0) this.#tellAll();
  }

  async #watch(watched: Watched): Promise<void> {
    const { workflowId } = watched.hook;
    const { signal } = watched.stopping;
    const { client } = this.#temporal;
    const news = new HistoryNews(this.#temporal, workflowId, SPACING_MS);
    let hasEnded = false;
    while (!signal.aborted) {
      const events = await client
        .withDeadline(Date.now() + CALL_TIMEOUT_MS, () =>
          client.workflow.getHandle(workflowId).query(hookEventsQuery),
        )
        .catch(() => null);
      // A hook that falls silent keeps its last events: its targets show that no worker answers.
      watched.events = events ?? watched.events ?? null;
      this.#tellAll(watched.hook);
      const hadEnded = hasEnded;
      hasEnded = events !== null && (await news.wait(HOOK_WAIT_MS, signal));
      // A run that continued as new has a successor, which does not end at once. The list drops a terminated one.
      if (events === null || (hadEnded && hasEnded)) await pause(LIST_EVERY_MS, signal);
    }
  }

  /** @param about - the hook that has changed. Absent: any. */
  #tellAll(about?: ListedHook): void {
    for (const follower of this.#followers)
      if (about === undefined || about.targets.includes(follower.targetId)) this.#tell(follower);
  }

  #tell({ targetId, listener }: Follower): void {
    const own = [...this.#watched.values()].filter(({ hook }) => hook.targets.includes(targetId));
    listener(
      own.flatMap(({ hook, events }) => (events === undefined ? [] : [hookOfTarget(hook, events, targetId)])),
    );
  }
}
