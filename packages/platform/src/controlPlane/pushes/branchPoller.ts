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

/** Polls the repositories of followed branches concurrently, so that one that hangs delays no other. */
export function createBranchPoller(options: {
  kysely: Kysely<Schema>;
  home: HomeLayout;
  log: Logger;
  /** Milliseconds between two queries of one repository, a fifth more or less; 0: only on request. */
  intervalMs: number;
  onRevisionsCreated: () => void;
}) {
  const { kysely, log, intervalMs } = options;
  const stopping = new AbortController();
  const repositories = new Map<string, RepositoryState>();
  const queuedQueries = new Map<string, readonly FollowedBranch[]>();
  const runningQueries = new Set<Promise<void>>();
  /** Reads of the followed branches. They are no queries, but use the database, too. */
  const runningReads = new Set<Promise<void>>();
  let timer: NodeJS.Timeout | undefined;

  const enqueue = (key: string, branches: readonly FollowedBranch[]): void => {
    if (!stopping.signal.aborted) queuedQueries.set(key, branches);
    for (const [next, group] of queuedQueries) {
      if (runningQueries.size >= MAX_CONCURRENT_QUERIES) return;
      const state = stateOf(next);
      if (state.isQuerying) continue;
      queuedQueries.delete(next);
      state.isQuerying = true;
      const query = queryRepository(group, state).finally(() => {
        runningQueries.delete(query);
        state.isQuerying = false;
        if (state.queryAgain) {
          state.queryAgain = false;
          void read(() => queryAgain(group));
        }
        const [first] = queuedQueries;
        if (first !== undefined) enqueue(...first);
      });
      runningQueries.add(query);
    }
  };

  const read = async (readBranches: () => Promise<void>): Promise<void> => {
    if (stopping.signal.aborted) return;
    const reading = readBranches();
    runningReads.add(reading);
    await reading;
    runningReads.delete(reading);
  };

  const stateOf = (key: string): RepositoryState => {
    const state = repositories.get(key) ?? {
      isQuerying: false,
      queryAgain: false,
      failures: 0,
      notBefore: 0,
    };
    repositories.set(key, state);
    return state;
  };

  /** Queries one repository, and follows its branches to their commits. */
  const queryRepository = async (
    branches: readonly FollowedBranch[],
    state: RepositoryState,
  ): Promise<void> => {
    const [first] = branches;
    if (first === undefined) return;
    try {
      const remote = await remoteOf(kysely, first.repository);
      const refs = await withScratch(options.home, 'ask', (scratch) =>
        readRemoteRefs(remote, [...new Set(branches.map(({ ref }) => ref))], {
          scratch,
          knownHosts: options.home.knownHosts,
          limits: DEFAULT_GIT_LIMITS,
          signal: stopping.signal,
        }),
      );
      for (const seen of branches) {
        const commit = refs.get(seen.ref)?.commit;
        if (commit === undefined || stopping.signal.aborted) continue;
        const revision = await kysely
          .transaction()
          .execute((trx) =>
            followBranch(trx, seen.deploymentId, commit, (now) => shouldFollow(commit, seen, now)),
          );
        if (revision === undefined) continue;
        log.info({ deployment: seen.deploymentId, revision, commit }, 'a branch has moved, and is built');
        options.onRevisionsCreated();
      }
      state.failures = 0;
      state.notBefore = 0;
    } catch (error) {
      if (stopping.signal.aborted) return;
      state.failures += 1;
      state.notBefore = Date.now() + Math.min(intervalMs * 2 ** state.failures, RETRY_DELAY_MAX_MS);
      log.warn(
        { err: error, repository: first.repository.repoUrl, failures: state.failures },
        'the branches of a repository could not be read; they are read again later',
      );
    }
  };

  const queryNow = (branches: readonly FollowedBranch[]): void => {
    for (const [key, group] of byRepository(branches)) {
      const state = stateOf(key);
      state.notBefore = 0;
      if (state.isQuerying) state.queryAgain = true;
      else enqueue(key, group);
    }
  };

  /** The state may be older than the request, so it is read again. */
  const queryAgain = async (branches: readonly FollowedBranch[]): Promise<void> => {
    try {
      const now = await followedBranches(kysely);
      queryNow(now.filter(({ deploymentId }) => branches.some((old) => old.deploymentId === deploymentId)));
    } catch (error) {
      log.warn({ err: error }, 'a repository could not be queried again at once; the next poll does it');
    }
  };

  const pollAll = async (): Promise<void> => {
    try {
      const due = (await followedBranches(kysely)).filter(({ isCommitPending }) => !isCommitPending);
      const groups = byRepository(due);
      for (const key of repositories.keys())
        if (!groups.has(key) && !stateOf(key).isQuerying) repositories.delete(key);
      for (const [key, group] of groups) {
        const { isQuerying, notBefore } = stateOf(key);
        if (!isQuerying && notBefore <= Date.now()) enqueue(key, group);
      }
    } catch (error) {
      log.warn({ err: error }, 'the branches that are followed could not be read; it is tried again');
    }
  };

  const scheduleNext = (): void => {
    if (stopping.signal.aborted) return;
    timer = setTimeout(() => void read(pollAll).then(scheduleNext), intervalMs * (0.8 + 0.4 * Math.random()));
    timer.unref();
  };

  return {
    start: (): void => {
      if (intervalMs > 0) void read(pollAll).then(scheduleNext);
    },
    /** Queries the repositories of these branches now; if a query is running, once more after it. */
    queryNow,
    close: async (): Promise<void> => {
      stopping.abort();
      clearTimeout(timer);
      queuedQueries.clear();
      await Promise.all([...runningQueries, ...runningReads]);
    },
  };
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
