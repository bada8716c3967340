import type { Kysely } from 'kysely';
import type { Logger } from 'pino';

import type { GitLimits } from '../../git/gitCommand.ts';
import { readRemoteRefs } from '../../git/remoteRefs.ts';
import type { Schema } from '../../store/schema.ts';
import { remoteOf } from '../integrations.ts';
import { type HomeLayout, withScratch } from '../homeLayout.ts';
import { followBranch, type FollowedBranch, followedBranches } from './followedBranch.ts';

/** How often branches are asked about where nothing else is said, in milliseconds: a minute. */
export const ASK_EVERY_MS = 60_000;

/** How many repositories are asked at once. */
const ASKED_AT_ONCE = 16;
/** A repository that fails is asked again after twice as long each time, up to this, in milliseconds. */
const ASK_AGAIN_MAX_MS = 15 * 60_000;

/** One repository, through one integration: asked once for all branches of it that are followed. */
interface Watched {
  isAsked: boolean;
  /** Ask again after the answer that is under way. */
  again: boolean;
  failures: number;
  notBefore: number;
}

/**
 * Asks repositories where the branches are that deployments follow. Repositories are asked side by side, each within its
 * own time: one that hangs holds up nobody but itself. Where no deployment has `build_on_push`, nothing is asked.
 */
export function createBranchWatch(options: {
  kysely: Kysely<Schema>;
  home: HomeLayout;
  limits: GitLimits;
  log: Logger;
  /** Milliseconds between two looks at one repository, a fifth more or less; 0: none but those that are asked for. */
  everyMs: number;
  /** Called after revisions were made. */
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

  /** Asks one repository, and follows its branches to where they are. */
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

  /** What was seen may be of before whatever made somebody ask: it is looked at anew. */
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
    /** Has the repositories of these branches asked now, and once more where they are being asked already. */
    lookUp,
    /** Ends what is being asked. */
    close: async (): Promise<void> => {
      stopping.abort();
      clearTimeout(timer);
      waiting.clear();
      await Promise.all(asking);
    },
  };
}

/**
 * Whether a branch is to be followed to a commit that its repository named. Not where anything has changed since the
 * repository was asked: the answer may be older than that, and the next one is not.
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
