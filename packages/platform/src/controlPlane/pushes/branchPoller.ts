import type { Kysely } from 'kysely';
import type { Logger } from 'pino';

import { DEFAULT_GIT_LIMITS } from '../../git/gitCommand.ts';
import { readRemoteRefs } from '../../git/remoteRefs.ts';
import type { Schema } from '../../store/schema.ts';
import { remoteOf } from '../integrations.ts';
import { type HomeLayout, withScratch } from '../homeLayout.ts';
import { followBranch, type FollowedBranch, followedBranches } from './followedBranch.ts';

/** The default interval between polls of branches, in milliseconds: a minute. */
export const POLL_INTERVAL_MS = 60_000;

const MAX_CONCURRENT_QUERIES = 16;
/** The delay after a failed query doubles up to this, in milliseconds. */
const RETRY_DELAY_MAX_MS = 15 * 60_000;

/** One repository through one integration: one query for all of its followed branches. */
interface RepositoryState {
  isQuerying: boolean;
  queryAgain: boolean;
  failures: number;
  notBefore: number;
}

export interface BranchPollerOptions {
  readonly kysely: Kysely<Schema>;
  readonly home: HomeLayout;
  readonly log: Logger;
  /** Milliseconds between two queries of one repository, a fifth more or less; 0: only on request. */
  readonly intervalMs: number;
  readonly onRevisionsCreated: () => void;
}

/** Polls the repositories of followed branches concurrently, so that one that hangs delays no other. */
export class BranchPoller {
  readonly #options: BranchPollerOptions;
  readonly #stopping = new AbortController();
  readonly #repositories = new Map<string, RepositoryState>();
  readonly #queuedQueries = new Map<string, readonly FollowedBranch[]>();
  readonly #runningQueries = new Set<Promise<void>>();
  /** Reads of the followed branches. They are no queries, but use the database, too. */
  readonly #runningReads = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BranchPollerOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#options.intervalMs > 0) this.#poll();
  }

  /** Queries the repositories of these branches now; if a query is running, once more after it. */
  queryNow(branches: readonly FollowedBranch[]): void {
    for (const [key, group] of byRepository(branches)) {
      const state = this.#stateOf(key);
      state.notBefore = 0;
      if (state.isQuerying) state.queryAgain = true;
      else this.#enqueue(key, group);
    }
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    this.#queuedQueries.clear();
    await Promise.all([...this.#runningQueries, ...this.#runningReads]);
  }

  #poll(): void {
    void this.#read(() => this.#queryAll()).then(() => {
      if (this.#stopping.signal.aborted) return;
      const pauseMs = this.#options.intervalMs * (0.8 + 0.4 * Math.random());
      this.#timer = setTimeout(() => this.#poll(), pauseMs).unref();
    });
  }

  async #queryAll(): Promise<void> {
    const { kysely, log } = this.#options;
    try {
      const due = (await followedBranches(kysely)).filter(({ isCommitPending }) => !isCommitPending);
      const groups = byRepository(due);
      for (const [key, { isQuerying }] of this.#repositories)
        if (!groups.has(key) && !isQuerying) this.#repositories.delete(key);
      for (const [key, group] of groups) {
        const { isQuerying, notBefore } = this.#stateOf(key);
        if (!isQuerying && notBefore <= Date.now()) this.#enqueue(key, group);
      }
    } catch (error) {
      log.warn({ err: error }, 'the branches that are followed could not be read; it is tried again');
    }
  }

  /** The state may be older than the request, so it is read again. */
  async #queryAgain(branches: readonly FollowedBranch[]): Promise<void> {
    const { kysely, log } = this.#options;
    try {
      const now = await followedBranches(kysely);
      const asked = new Set(branches.map(({ deploymentId }) => deploymentId));
      this.queryNow(now.filter(({ deploymentId }) => asked.has(deploymentId)));
    } catch (error) {
      log.warn({ err: error }, 'a repository could not be queried again at once; the next poll does it');
    }
  }

  async #read(readBranches: () => Promise<void>): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const reading = readBranches();
    this.#runningReads.add(reading);
    await reading;
    this.#runningReads.delete(reading);
  }

  #stateOf(key: string): RepositoryState {
    const state = this.#repositories.get(key) ?? {
      isQuerying: false,
      queryAgain: false,
      failures: 0,
      notBefore: 0,
    };
    this.#repositories.set(key, state);
    return state;
  }

  #enqueue(key: string, branches: readonly FollowedBranch[]): void {
    if (!this.#stopping.signal.aborted) this.#queuedQueries.set(key, branches);
    for (const [next, group] of this.#queuedQueries) {
      if (this.#runningQueries.size >= MAX_CONCURRENT_QUERIES) return;
      const state = this.#stateOf(next);
      if (state.isQuerying) continue;
      this.#queuedQueries.delete(next);
      state.isQuerying = true;
      const query = this.#query(group, state).finally(() => {
        this.#runningQueries.delete(query);
        state.isQuerying = false;
        if (state.queryAgain) {
          state.queryAgain = false;
          void this.#read(() => this.#queryAgain(group));
        }
        const [first] = this.#queuedQueries;
        if (first !== undefined) this.#enqueue(...first);
      });
      this.#runningQueries.add(query);
    }
  }

  /** Queries one repository, and follows its branches to their commits. */
  async #query(branches: readonly FollowedBranch[], state: RepositoryState): Promise<void> {
    const [first] = branches;
    if (first === undefined) return;
    const { log, intervalMs } = this.#options;
    try {
      await this.#follow(first, branches);
      state.failures = 0;
      state.notBefore = 0;
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      state.failures += 1;
      state.notBefore = Date.now() + Math.min(intervalMs * 2 ** state.failures, RETRY_DELAY_MAX_MS);
      log.warn(
        { err: error, repository: first.repository.repoUrl, failures: state.failures },
        'the branches of a repository could not be read; they are read again later',
      );
    }
  }

  async #follow({ repository }: FollowedBranch, branches: readonly FollowedBranch[]): Promise<void> {
    const { kysely, home, log, onRevisionsCreated } = this.#options;
    const { signal } = this.#stopping;
    const remote = await remoteOf(kysely, repository);
    const refs = await withScratch(home, 'ask', (scratch) =>
      readRemoteRefs(remote, [...new Set(branches.map(({ ref }) => ref))], {
        scratch,
        knownHosts: home.knownHosts,
        limits: DEFAULT_GIT_LIMITS,
        signal,
      }),
    );
    for (const seen of branches) {
      const commit = refs.get(seen.ref)?.commit;
      if (commit === undefined || signal.aborted) continue;
      const revision = await kysely
        .transaction()
        .execute((trx) =>
          followBranch(trx, seen.deploymentId, commit, (now) => shouldFollow(commit, seen, now)),
        );
      if (revision === undefined) continue;
      log.info({ deployment: seen.deploymentId, revision, commit }, 'a branch has moved, and is built');
      onRevisionsCreated();
    }
  }
}

/** Whether to follow a branch to a commit. Not if anything has changed since the query, which may be outdated. */
function shouldFollow(commit: string, seen: FollowedBranch, now: FollowedBranch): boolean {
  return (
    now.commit !== commit &&
    now.commit === seen.commit &&
    now.latestRevisionId === seen.latestRevisionId &&
    !now.isCommitPending
  );
}

function byRepository(branches: readonly FollowedBranch[]): Map<string, FollowedBranch[]> {
  const groups = new Map<string, FollowedBranch[]>();
  for (const branch of branches) {
    const key = JSON.stringify([branch.repository.repoUrl, branch.repository.integrationId]);
    groups.set(key, [...(groups.get(key) ?? []), branch]);
  }
  return groups;
}
