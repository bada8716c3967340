import { setTimeout as sleep } from 'node:timers/promises';

import type { TargetView } from '../../messages/target.ts';
import { findTarget, type ListedTarget, listTargets } from '../../temporal/client/target/targetClient.ts';
import type { Viewer } from '../access/session.ts';
import { FirstReads } from './firstReads.ts';
import { HookWatches } from './hookWatches.ts';
import type { Fragments, LivePage } from './liveRooms.ts';
import { type ReadContext, type SharedWatches, type TargetSnapshot, TargetWatch } from './targetWatch.ts';
import { TemporalPulse } from './temporalPulse.ts';

/** How long a target is watched after its last page was closed, in milliseconds, so that the next page is fast. */
const KEPT_MS = 5 * 60_000;
/** How long a page waits for a few unread targets, in milliseconds. Then it shows them as they answer. */
const FIRST_READ_MS = 50;
/** How long a page waits for the only target that it is about, in milliseconds: without it, much would be missing. */
const ONLY_READ_MS = 1_000;
const LIST_WAIT_MS = 1_000;
const LIST_AGE_MS = 5_000;
/** The age, in milliseconds, up to which a new page shows the list while it is read again. */
export const LIST_SHOWN_MS = 60_000;

interface Watched {
  readonly watch: TargetWatch;
  readonly listeners: Set<() => void>;
  ending: NodeJS.Timeout | undefined;
}

/** The watches of this process: one per target, shared by all pages. */
export class TargetWatches {
  readonly #watched = new Map<string, Watched>();
  readonly #firstReads = new FirstReads();
  readonly #context: ReadContext;
  readonly #shared: SharedWatches;
  #last: readonly ListedTarget[] | undefined;
  #listed: { readonly at: number; readonly targets: Promise<readonly ListedTarget[]> } | undefined;

  constructor(context: ReadContext) {
    this.#context = context;
    this.#shared = {
      firstReads: this.#firstReads,
      hooks: new HookWatches(context.temporal),
      pulse: new TemporalPulse(context.temporal),
    };
  }

  /**
   * The targets of the namespace, read at most every few seconds. While Temporal does not answer, the last ones: their
   * snapshots show that it does not.
   * @param shownMs - a list up to this age is returned at once, and read again meanwhile. Default: waits for a new
   *   list.
   * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE if it never answered.
   */
  targets(shownMs = LIST_AGE_MS): Promise<readonly ListedTarget[]> {
    const before = this.#listed;
    const age = before === undefined ? Infinity : Date.now() - before.at;
    if (before !== undefined && age <= LIST_AGE_MS) return before.targets;
    const targets = this.#listOrLast();
    const listed = { at: Date.now(), targets };
    this.#listed = listed;
    targets.catch(() => {
      if (this.#listed === listed) this.#listed = undefined;
    });
    return before !== undefined && age <= shownMs ? before.targets : targets;
  }

  async #listOrLast(): Promise<readonly ListedTarget[]> {
    const listing = listTargets(this.#context.temporal).then((targets) => (this.#last = targets));
    const last = this.#last;
    if (last === undefined) return listing;
    return Promise.race([listing.catch(() => last), sleep(LIST_WAIT_MS, last, { ref: false })]);
  }

  /** Finds a target by its workflow's id, even a new one. */
  async target(workflowId: string): Promise<ListedTarget | undefined> {
    const listed = (await this.targets()).find((target) => target.workflowId === workflowId);
    return listed ?? findTarget(this.#context.temporal, workflowId);
  }

  /** Starts to read all targets, so that the first page of a new server shows them at once. */
  async warm(): Promise<void> {
    for (const target of await this.targets()) this.subscribe(target, () => undefined)();
  }

  /** The snapshots of some targets. Waits a short time for a few that have not been read yet. */
  async snapshots(
    targets: readonly ListedTarget[],
    waitMs = this.#firstReads.areMany ? 0 : FIRST_READ_MS,
  ): Promise<readonly TargetSnapshot[]> {
    const ends = targets.map((target) => this.subscribe(target, () => undefined));
    try {
      const waited = new AbortController();
      const read = Promise.all(targets.map((target) => this.#firstRead(target)));
      await Promise.race([read, sleep(waitMs, undefined, { signal: waited.signal }).catch(() => undefined)]);
      waited.abort();
      return this.current(targets);
    } finally {
      for (const end of ends) end();
    }
  }

  /** The snapshot of one target; `undefined`: there is none. @throws as {@link target}. */
  async snapshot(workflowId: string): Promise<TargetSnapshot | undefined> {
    const target = await this.target(workflowId);
    return target === undefined ? undefined : (await this.snapshots([target], ONLY_READ_MS))[0];
  }

  current(targets: readonly ListedTarget[]): readonly TargetSnapshot[] {
    return targets.map((target) => this.#of(target).watch.snapshot);
  }

  view(workflowId: string): TargetView | undefined {
    const { view, silence } = this.#watched.get(workflowId)?.watch.snapshot ?? {};
    return silence === undefined ? view : undefined;
  }

  /** Watches a target, and calls the listener at each change. @returns a function that unsubscribes. */
  subscribe(target: ListedTarget, listener: () => void): () => void {
    const watched = this.#of(target);
    clearTimeout(watched.ending);
    // Two pages may subscribe the same function.
    const own = (): void => listener();
    watched.listeners.add(own);
    return () => {
      watched.listeners.delete(own);
      if (watched.listeners.size > 0) return;
      clearTimeout(watched.ending);
      watched.ending = setTimeout(() => this.#end(target.workflowId), KEPT_MS);
      watched.ending.unref();
    };
  }

  close(): void {
    for (const workflowId of [...this.#watched.keys()]) this.#end(workflowId);
  }

  #of(target: ListedTarget): Watched {
    const known = this.#watched.get(target.workflowId);
    if (known !== undefined) return known;
    const listeners = new Set<() => void>();
    const tell = (): void => {
      for (const listener of listeners) listener();
    };
    const watch = new TargetWatch(this.#context, target, tell, this.#shared);
    const watched: Watched = { watch, listeners, ending: undefined };
    this.#watched.set(target.workflowId, watched);
    return watched;
  }

  #end(workflowId: string): void {
    const watched = this.#watched.get(workflowId);
    if (watched === undefined) return;
    clearTimeout(watched.ending);
    watched.watch.stop();
    this.#watched.delete(workflowId);
  }

  #firstRead(target: ListedTarget): Promise<void> {
    return new Promise((resolve) => {
      const isRead = (): boolean => {
        const { view, silence, progress } = this.#of(target).watch.snapshot;
        if (silence !== undefined) return true;
        return view !== undefined && (view.running === null || progress !== undefined);
      };
      if (isRead()) {
        resolve();
        return;
      }
      const end = this.subscribe(target, () => {
        if (!isRead()) return;
        end();
        resolve();
      });
    });
  }
}

const NEW_EVERY_MS = 5_000;

/**
 * A page that is rendered again from its targets' snapshots whenever one of them changes.
 * @param list - lists the present targets, for a page that shows all. Absent: the page shows only these.
 */
export async function liveTargets(
  watches: TargetWatches,
  targets: readonly ListedTarget[],
  render: (snapshots: readonly TargetSnapshot[], viewer: Viewer) => Fragments | Promise<Fragments>,
  list?: () => Promise<readonly ListedTarget[]>,
): Promise<LivePage> {
  await watches.snapshots(targets);
  let shown = targets;
  return {
    fragments: (viewer) => render(watches.current(shown), viewer),
    subscribe: (changed) => {
      const ends = new Map<string, () => void>();
      const follow = (): void => {
        for (const target of shown) {
          if (!ends.has(target.workflowId)) ends.set(target.workflowId, watches.subscribe(target, changed));
        }
      };
      const lookForNew = async (): Promise<void> => {
        const listed = (await list?.()) ?? shown;
        const added = listed.filter(({ workflowId }) => !ends.has(workflowId));
        if (added.length === 0) return;
        // Temporal's list may lack a target for a moment, while it continues as new.
        shown = [...shown, ...added];
        follow();
        changed();
      };
      follow();
      // If Temporal does not answer, the targets' snapshots show it.
      const timer = setInterval(() => void lookForNew().catch(() => undefined), NEW_EVERY_MS);
      timer.unref();
      return () => {
        clearInterval(timer);
        for (const end of ends.values()) end();
        ends.clear();
      };
    },
  };
}
