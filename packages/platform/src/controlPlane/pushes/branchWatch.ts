import type { Kysely } from 'kysely';
import type { Logger } from 'pino';

import type { GitLimits } from '../../git/gitCommand.ts';
import { readRemoteRefs } from '../../git/remoteRefs.ts';
import type { Schema } from '../../store/schema.ts';
import { remoteOf } from '../integrations.ts';
import { type HomeLayout, withScratch } from '../homeLayout.ts';
import { followBranch, type FollowedBranch, followedBranches } from './followedBranch.ts';

/** The default interval between polls of branches, in milliseconds: a minute. */
export const ASK_EVERY_MS = 60_000;

/** How many repositories to query at once. */
const ASKED_AT_ONCE = 16;
/** The delay after a failed query doubles up to this, in milliseconds. */
const ASK_AGAIN_MAX_MS = 15 * 60_000;

/** One repository through one integration: one query for all of its followed branches. */
interface Watched {
  isAsked: boolean;
  /** Query again after the current query. */
  again: boolean;
  failures: number;
  notBefore: number;
}

/**
 * Polls the repositories of followed branches. Repositories are queried concurrently, so one that hangs delays no
 * other. Without a deployment with `build_on_push`, nothing is queried.
 */
export function createBranchWatch(options: {
  kysely: Kysely<Schema>;
  home: HomeLayout;
  limits: GitLimits;
  log: Logger;
  /** Milliseconds between two queries of one repository, a fifth more or less; 0: only on request. */
  everyMs: number;
  /** Called after revisions were created. */
  changed: () => void;
}) {
  const { kysely, log, everyMs } = options;
  const stopping = new AbortController();
  const watched = new Map<string, Watched>();
  const waiting = new Map<string, readonly FollowedBranch[]>();
  const asking = new Set<Promise<void>>();
  let timer: NodeJS.Timeout | undefined;

  const enqueue = (key: string, branches: readonly FollowedBranch[]): void => {
    if (!stopping.signal.aborted) waiting.set(key, branches);
    for (const [next, group] of waiting) {
      if (asking.size >= ASKED_AT_ONCE) return;
      const state = stateOf(next);
      if (state.isAsked) continue;
      waiting.delete(next);
      state.isAsked = true;
      const asked = ask(group, state).finally(() => {
        asking.delete(asked);
        state.isAsked = false;
        if (state.again) {
          state.again = false;
          void lookAgain(group);
        }
        const [first] = waiting;
        if (first !== undefined) enqueue(...first);
      });
      asking.add(asked);
    }
  };

  const stateOf = (key: string): Watched => {
    const state = watched.get(key) ?? { isAsked: false, again: false, failures: 0, notBefore: 0 };
    watched.set(key, state);
    return state;
  };

  /** Queries one repository, and follows its branches to their commits. */
  const ask = async (branches: readonly FollowedBranch[], state: Watched): Promise<void> => {
    const [first] = branches;
    if (first === undefined) return;
    try {
      const remote = await remoteOf(kysely, first.repository);
      const refs = await withScratch(options.home, 'ask', (scratch) =>
        readRemoteRefs(remote, [...new Set(branches.map(({ ref }) => ref))], {
          scratch,
          knownHosts: options.home.knownHosts,
          limits: options.limits,
          signal: stopping.signal,
        }),
      );
      for (const seen of branches) {
        const commit = refs.get(seen.ref)?.commit;
        if (commit === undefined || stopping.signal.aborted) continue;
        const revision = await kysely
          .transaction()
          .execute((trx) =>
            followBranch(trx, seen.deploymentId, commit, (now) => isAhead(commit, seen, now)),
          );
        if (revision === undefined) continue;
        log.info({ deployment: seen.deploymentId, revision, commit }, 'a branch has moved, and is built');
        options.changed();
      }
      state.failures = 0;
      state.notBefore = 0;
    } catch (error) {
      if (stopping.signal.aborted) return;
      state.failures += 1;
      state.notBefore = Date.now() + Math.min(everyMs * 2 ** state.failures, ASK_AGAIN_MAX_MS);
      log.warn(
        { err: error, repository: first.repository.repoUrl, failures: state.failures },
        'a repository could not be asked for its branches; it is asked again later',
      );
    }
  };

  const lookUp = (branches: readonly FollowedBranch[]): void => {
    for (const [key, group] of byRepository(branches)) {
      const state = stateOf(key);
      state.notBefore = 0;
      if (state.isAsked) state.again = true;
      else enqueue(key, group);
    }
  };

  /** The state may be older than the request, so it is read again. */
  const lookAgain = async (branches: readonly FollowedBranch[]): Promise<void> => {
    try {
      const now = await followedBranches(kysely);
      lookUp(now.filter(({ deploymentId }) => branches.some((old) => old.deploymentId === deploymentId)));
    } catch (error) {
      log.warn({ err: error }, 'a repository was not asked once more; it is with the others');
    }
  };

  const round = async (): Promise<void> => {
    try {
      const due = (await followedBranches(kysely)).filter(({ isFindingOut }) => !isFindingOut);
      const groups = byRepository(due);
      for (const key of watched.keys()) if (!groups.has(key) && !stateOf(key).isAsked) watched.delete(key);
      for (const [key, group] of groups) {
        const { isAsked, notBefore } = stateOf(key);
        if (!isAsked && notBefore <= Date.now()) enqueue(key, group);
      }
    } catch (error) {
      log.warn({ err: error }, 'the branches that are followed could not be read; it is tried again');
    }
  };

  const next = (): void => {
    if (stopping.signal.aborted) return;
    timer = setTimeout(() => void round().finally(next), everyMs * (0.8 + 0.4 * Math.random()));
    timer.unref();
  };

  return {
    start: (): void => {
      if (everyMs > 0) void round().finally(next);
    },
    /** Queries the repositories of these branches now; if a query is running, once more after it. */
    lookUp,
    /** Cancels the running queries. */
    close: async (): Promise<void> => {
      stopping.abort();
      clearTimeout(timer);
      waiting.clear();
      await Promise.all(asking);
    },
  };
}

/**
 * Whether to follow a branch to a commit from its repository. Not if anything has changed since the query: the answer
 * may be older than the change, and the next one is not.
 */
function isAhead(commit: string, seen: FollowedBranch, now: FollowedBranch): boolean {
  return (
    now.commit !== commit &&
    now.commit === seen.commit &&
    now.latestRevisionId === seen.latestRevisionId &&
    !now.isFindingOut
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
