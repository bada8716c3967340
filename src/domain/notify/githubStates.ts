import type { Notice, NoticeEvent } from './notice.ts';

export type DeploymentState = 'in_progress' | 'success' | 'failure' | 'error';

export type CommitState = 'pending' | 'success' | 'failure' | 'error';

/** The state on GitHub for each outcome of a release. */
const ENDED: Readonly<Partial<Record<NoticeEvent, 'success' | 'failure' | 'error'>>> = {
  released: 'success',
  rolled_back: 'failure',
  failed: 'failure',
  rollback_failed: 'failure',
  errored: 'error',
  aborted: 'error',
};

export const GITHUB_EVENTS: readonly string[] = ['release_started', ...Object.keys(ENDED)];

export interface GithubState<State> {
  readonly commit: string;
  readonly state: State;
  /** Whether to report it even if GitHub has no deployment or status of this release yet. */
  readonly begins: boolean;
}

/**
 * The state of a GitHub deployment after a notice, or why there is none. A rollback deploys the commit that it
 * restored. A release that was rolled back is a failed deployment, so that GitHub shows the one before it as active.
 */
export function deploymentStateOf(notice: Notice): GithubState<DeploymentState> | string {
  const { kind, event, servingCommit } = notice;
  if (kind === 'rollback') {
    if (event !== 'rolled_back') return `GitHub has no deployment for ${event}`;
    return ofCommit(servingCommit, 'success', true);
  }
  return ofRelease(notice, 'in_progress');
}

/** The status of a commit after a notice, or a sentence that says why there is none. Only releases have statuses. */
export function commitStateOf(notice: Notice): GithubState<CommitState> | string {
  return ofRelease(notice, 'pending');
}

function ofRelease<Begun>(
  { kind, event, commit }: Notice,
  begun: Begun,
): GithubState<Begun | 'success' | 'failure' | 'error'> | string {
  if (kind !== 'release') return `GitHub gets notices of releases, not of ${event}`;
  const state = event === 'release_started' ? begun : ENDED[event];
  if (state === undefined) return `GitHub has no status for ${event}`;
  // A withdrawn release never started, so GitHub does not know it.
  return ofCommit(commit, state, event !== 'aborted');
}

function ofCommit<State>(commit: string | null, state: State, begins: boolean): GithubState<State> | string {
  if (commit === null) return 'no commit is known';
  if (!COMMIT.test(commit)) return 'the source differs from its commit, which GitHub does not know';
  return { commit, state, begins };
}

/** A complete commit. A source that differs from its commit ends in `-dirty` instead. */
const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/u;
