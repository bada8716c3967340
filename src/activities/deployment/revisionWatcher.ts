import type { ControlPlaneClient } from '../../clients/controlPlane.ts';
import { ServiceError } from '../../clients/serviceError.ts';
import { LONGEST_CALL_MS } from '../../domain/stepTable.ts';
import { UNREADABLE } from '../../messages/revisionPoller.ts';
import { isRetryable } from '../activityFailure.ts';
import type { RequestRates } from './requestRates.ts';
import type { Deployment } from './snapshots.ts';

/** The calls to a control plane. Some control planes do not list deployments. */
export type WatchedClient = Pick<ControlPlaneClient, 'getRevision'> &
  Partial<Pick<ControlPlaneClient, 'listDeployments'>>;

export interface WatchedRevision {
  readonly deploymentId: string;
  readonly revisionId: string;
  /** When a workflow began to wait for it, in milliseconds since 1970. The longer ago, the less often it is read. */
  readonly since: number;
}

/** Called after each read with the status, or {@link UNREADABLE}. */
type OnStatus = (status: string) => void;

/** The pause between two reads of a revision: a tenth of the time since its wait began, within these bounds. */
const SHARE_OF_AGE = 0.1;
const SHORTEST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;
/** The longest pause if lists are read, too. They show which revision is active, but not that one has failed. */
const LONGEST_PAUSE_LISTED_MS = 50_000;
/** Read lists from this many revisions on. Fewer need less than half of the request rate. */
const LISTED_FROM = 200;
const LIST_EVERY_MS = 12_000;
/** How many deployments one list request may name, in the public API. */
const LIST_IDS_MAX = 100;
/** How many requests may run at once. */
const UNDER_WAY_MAX = 128;
/** How long a revision without a listener keeps its turn, because the next activity usually continues to watch it. */
const KEPT_MS = 15_000;

interface Watched extends WatchedRevision {
  readonly listeners: Set<OnStatus>;
  /** When the next read is due, by `performance.now()`. */
  due: number;
  /** When its last listener left, by `performance.now()`. */
  leftAt: number;
  status?: string;
  /** The deployment's state in the last list. */
  row?: string;
  isAskedFor: boolean;
}

/**
 * Reads the revisions of one control plane for all workflows in this process that wait there with one key. The
 * longest overdue comes first. It reserves one request at a time from the rate limit, so a release that reads for itself
 * waits for at most one.
 */
export class RevisionWatcher {
  readonly #client: WatchedClient;
  readonly #controlPlane: string;
  readonly #rates: RequestRates;
  readonly #watched = new Map<string, Watched>();
  /** Those that are not being read now, in the order of their next reads. */
  #queue: Watched[] = [];
  /** Those whose deployment has changed. */
  readonly #urgent = new Set<Watched>();
  /** The groups whose lists are still to be read in this round. */
  #lists: (readonly Watched[])[] = [];
  #nextRound = 0;
  /** `undefined` until the first list was requested. */
  #offersLists: boolean | undefined;
  #wasList = false;
  #underWay = 0;
  #isRunning = false;
  #wake: () => void = () => undefined;

  constructor(client: WatchedClient, controlPlane: string, rates: RequestRates) {
    this.#client = client;
    this.#controlPlane = controlPlane;
    this.#rates = rates;
    if (client.listDeployments === undefined) this.#offersLists = false;
  }

  /**
   * Watches a revision. Reports the last known status at once.
   * @returns a function to end it; `isDone`: no other activity will continue to watch it.
   */
  watch(revision: WatchedRevision, onStatus: OnStatus): (isDone: boolean) => void {
    const key = keyOf(revision);
    let watched = this.#watched.get(key);
    if (watched === undefined) {
      watched = { ...revision, listeners: new Set(), due: performance.now(), leftAt: 0, isAskedFor: false };
      this.#watched.set(key, watched);
      this.#enqueue(watched);
    }
    const { listeners, status } = watched;
    listeners.add(onStatus);
    if (status !== undefined) queueMicrotask(() => listeners.has(onStatus) && onStatus(status));
    if (!this.#isRunning) void this.#run();
    return (isDone) => {
      listeners.delete(onStatus);
      if (listeners.size > 0) return;
      watched.leftAt = performance.now();
      if (isDone) this.#forget(watched);
    };
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#watched.size > 0) {
      this.#beginRound();
      const dueInMs = this.#lists.length + this.#urgent.size > 0 ? 0 : this.#dueInMs();
      if (dueInMs > 0 || this.#underWay >= UNDER_WAY_MAX) {
        await this.#sleep(dueInMs > 0 ? dueInMs : Infinity);
        continue;
      }
      const waitMs = this.#rates.reserve(this.#controlPlane) - performance.now();
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
      this.#send();
    }
    this.#isRunning = false;
  }

  #dueInMs(): number {
    return (this.#queue[0]?.due ?? Infinity) - performance.now();
  }

  /** Sends the next request. Lists and reads of revisions alternate. */
  #send(): void {
    const isLookDue = this.#urgent.size > 0 || this.#dueInMs() <= 0;
    this.#wasList = this.#lists.length > 0 && !(this.#wasList && isLookDue);
    const listed = this.#wasList ? this.#lists.shift() : undefined;
    const watched = listed === undefined ? this.#takeNext() : undefined;
    this.#underWay++;
    const answered = listed === undefined ? watched && this.#look(watched) : this.#list(listed);
    void Promise.resolve(answered).finally(() => {
      this.#underWay--;
      this.#wake();
    });
  }

  #takeNext(): Watched | undefined {
    const [urgent] = this.#urgent;
    const next = urgent ?? this.#queue[0];
    if (next !== undefined) this.#dequeue(next);
    return next;
  }

  async #look(watched: Watched): Promise<void> {
    const { deploymentId, revisionId, listeners } = watched;
    if (listeners.size === 0 && performance.now() - watched.leftAt > KEPT_MS) {
      this.#forget(watched);
      return;
    }
    watched.due = performance.now() + this.#pauseAfter(Date.now() - watched.since);
    const options = { timeoutMs: LONGEST_CALL_MS };
    watched.isAskedFor = true;
    try {
      watched.status = (await this.#client.getRevision(deploymentId, revisionId, options)).status;
    } catch (error) {
      if (error instanceof ServiceError && isRetryable(error.code)) {
        this.#rates.rest(this.#controlPlane, error);
        watched.due = performance.now() + SHORTEST_PAUSE_MS;
      } else {
        watched.status = UNREADABLE;
      }
    }
    watched.isAskedFor = false;
    if (this.#watched.get(keyOf(watched)) !== watched) return;
    this.#enqueue(watched);
    if (watched.status !== undefined) for (const onStatus of listeners) onStatus(watched.status);
  }

  #pauseAfter(ageMs: number): number {
    const longest = this.#readsLists() ? LONGEST_PAUSE_LISTED_MS : LONGEST_PAUSE_MS;
    return Math.min(Math.max(ageMs * SHARE_OF_AGE, SHORTEST_PAUSE_MS), longest);
  }

  #readsLists(): boolean {
    return this.#offersLists === true && this.#watched.size >= LISTED_FROM;
  }

  /** Plans the lists of all deployments, at intervals. The first list request finds out whether lists are offered. */
  #beginRound(): void {
    const isWanted = this.#offersLists !== false && this.#watched.size >= LISTED_FROM;
    if (!isWanted || performance.now() < this.#nextRound) return;
    this.#nextRound = performance.now() + LIST_EVERY_MS;
    const all = [...this.#watched.values()];
    this.#lists = [];
    for (let from = 0; from < all.length; from += LIST_IDS_MAX) {
      this.#lists.push(all.slice(from, from + LIST_IDS_MAX));
      if (this.#offersLists === undefined) return;
    }
  }

  /** Reads a list of deployments. It shows which ones have changed; only a read of the revision shows its status. */
  async #list(listed: readonly Watched[]): Promise<void> {
    const ids = [...new Set(listed.map(({ deploymentId }) => deploymentId))];
    const query = { deployment_ids: ids, limit: LIST_IDS_MAX };
    try {
      const answer = await this.#client.listDeployments?.(query, { timeoutMs: LONGEST_CALL_MS });
      const deployments = new Map(answer?.resources.map((deployment) => [deployment.id, deployment]));
      if (this.#offersLists === undefined) this.#nextRound = 0;
      // A control plane that does not support the filter lists all deployments.
      this.#offersLists = [...deployments.keys()].every((id) => ids.includes(id));
      for (const watched of listed) {
        const deployment = deployments.get(watched.deploymentId);
        if (deployment !== undefined) this.#compare(watched, deployment);
      }
    } catch (error) {
      const mayAnswerLater =
        error instanceof ServiceError && isRetryable(error.code) && error.code !== 'SLIPWAY_BAD_ANSWER';
      if (mayAnswerLater) this.#rates.rest(this.#controlPlane, error);
      else this.#offersLists = false;
    }
    if (!this.#offersLists) this.#lists = [];
  }

  /** If a deployment has changed, reads its revision before all others. */
  #compare(watched: Watched, deployment: Deployment): void {
    const { active_revision_id: active, latest_revision_id: latest, updated_at: updatedAt } = deployment;
    const row = `${active ?? ''} ${latest ?? ''} ${updatedAt}`;
    const isNews = watched.row === undefined ? active === watched.revisionId : row !== watched.row;
    // A revision that is being read now is compared with the next list.
    if (watched.isAskedFor) return;
    watched.row = row;
    if (isNews) this.#urgent.add(watched);
  }

  #forget(watched: Watched): void {
    this.#watched.delete(keyOf(watched));
    this.#dequeue(watched);
    this.#wake();
  }

  #dequeue(watched: Watched): void {
    this.#urgent.delete(watched);
    const at = this.#queue.indexOf(watched);
    if (at !== -1) this.#queue.splice(at, 1);
  }

  #enqueue(watched: Watched): void {
    const later = this.#queue.findLastIndex(({ due }) => due <= watched.due);
    this.#queue.splice(later + 1, 0, watched);
    this.#wake();
  }

  /** Sleeps until something changes, at most until the next round of lists. */
  async #sleep(milliseconds: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const longest = this.#readsLists() ? this.#nextRound - performance.now() : LONGEST_PAUSE_MS;
      const timer = setTimeout(resolve, Math.min(milliseconds, longest));
      timer.unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function keyOf({ deploymentId, revisionId }: WatchedRevision): string {
  return `${deploymentId} ${revisionId}`;
}
