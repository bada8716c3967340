import { setTimeout as sleep } from 'node:timers/promises';

import type { TemporalConnection } from '../../temporal/client/connection.ts';
import {
  type ListedPromotions,
  listPromotions,
  readPromotion,
} from '../../temporal/client/promotion/promotionClient.ts';
import { HistoryNews } from '../../temporal/client/release/historyNews.ts';
import type { LivePage } from '../live/liveRooms.ts';

const LIST_EVERY_MS = 5_000;
const SPACING_MS = 200;
/** How long the list is kept after the last page has closed, in milliseconds. */
const KEPT_MS = 3_000;
/** How long a page waits for a new list, in milliseconds, if there was one before. */
const LIST_WAIT_MS = 1_000;
const NONE: ListedPromotions = { promotions: [], sealed: new Map() };

/** Watches the promotions of the namespace for all pages that show them, while such pages are open. */
export class PromotionWatch {
  readonly #temporal: TemporalConnection;
  readonly #listNow: typeof listPromotions;
  readonly #listeners = new Set<() => void>();
  /** `undefined` until they were listed once. */
  #last: ListedPromotions | undefined;
  #read: { readonly at: number; readonly done: Promise<void> } | undefined;
  #watching: AbortController | undefined;
  readonly #followed = new Set<string>();

  /** @param list - lists the promotions to watch. Default: all of the namespace. */
  constructor(temporal: TemporalConnection, list: typeof listPromotions = listPromotions) {
    this.#temporal = temporal;
    this.#listNow = list;
  }

  /**
   * The promotions of the namespace. While Temporal does not answer, the last ones: the snapshots of their targets show that it
   * does not.
   * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE if it never answered.
   */
  async promotions(): Promise<ListedPromotions> {
    const isRead = this.#watching !== undefined && this.#read !== undefined;
    const done = isRead ? this.#read?.done : this.#list(KEPT_MS);
    const last = this.#last;
    if (last === undefined) await done;
    else await Promise.race([done?.catch(() => last), sleep(LIST_WAIT_MS, last, { ref: false })]);
    return this.current;
  }

  get current(): ListedPromotions {
    return this.#last ?? NONE;
  }

  /** Calls the listener at each change. @returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void {
    const own = (): void => listener();
    this.#listeners.add(own);
    if (this.#watching === undefined) this.#start();
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size > 0) return;
      this.#watching?.abort();
      this.#watching = undefined;
    };
  }

  /** A page that is also rendered again if a promotion changes. */
  alsoIn({ fragments, subscribe }: LivePage): LivePage {
    return {
      fragments,
      subscribe: (changed) => {
        const ends = [subscribe(changed), this.subscribe(changed)];
        return () => {
          for (const end of ends) end();
        };
      },
    };
  }

  #start(): void {
    const watching = new AbortController();
    this.#watching = watching;
    const look = (): void => {
      // If Temporal does not answer, the next read may succeed.
      this.#list(LIST_EVERY_MS / 2).then(
        () => this.#followRunning(watching.signal),
        () => undefined,
      );
    };
    look();
    const timer = setInterval(look, LIST_EVERY_MS);
    timer.unref();
    watching.signal.addEventListener('abort', () => clearInterval(timer));
  }

  async #list(maxAgeMs: number): Promise<void> {
    if (this.#read !== undefined && Date.now() - this.#read.at < maxAgeMs) return this.#read.done;
    const done = this.#listNow(this.#temporal).then((listed) => this.#change(listed));
    this.#read = { at: Date.now(), done };
    done.catch(() => (this.#read = undefined));
    return done;
  }

  #followRunning(signal: AbortSignal): void {
    for (const { workflowId, view } of this.current.promotions) {
      if (view.state === 'running' && !this.#followed.has(workflowId)) void this.#follow(workflowId, signal);
    }
  }

  async #follow(workflowId: string, signal: AbortSignal): Promise<void> {
    this.#followed.add(workflowId);
    const news = new HistoryNews(this.#temporal, workflowId, SPACING_MS);
    const runs = (): boolean =>
      this.current.promotions.some((each) => each.workflowId === workflowId && each.view.state === 'running');
    try {
      while (!signal.aborted && runs()) {
        await news.wait(LIST_EVERY_MS, signal);
        const schedules = this.current.promotions.flatMap(({ schedule }) => schedule ?? []);
        const fresh = await readPromotion(this.#temporal, workflowId, schedules);
        if (fresh === undefined) return;
        this.#change({
          ...this.current,
          promotions: this.current.promotions.map((each) => (each.workflowId === workflowId ? fresh : each)),
        });
      }
    } catch {
      // The list is read again, and shows the promotion's new state.
    } finally {
      this.#followed.delete(workflowId);
    }
  }

  #change(listed: ListedPromotions): void {
    const isSame = shown(listed) === shown(this.current);
    this.#last = listed;
    if (isSame) return;
    for (const listener of this.#listeners) listener();
  }
}

function shown({ promotions, sealed }: ListedPromotions): string {
  return JSON.stringify([promotions, [...sealed.keys()]]);
}
