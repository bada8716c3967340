import type { Notice, NoticeEvent } from './notice.ts';

/** A status of a GitHub deployment, as far as Slipway sets it. */
export type DeploymentState = 'in_progress' | 'success' | 'failure' | 'error';

/** A status of a GitHub commit. */
export type CommitState = 'pending' | 'success' | 'failure' | 'error';

/** The events of which GitHub is ever told. */
export const GITHUB_EVENTS: readonly NoticeEvent[] = [
  'release_started',
  'released',
  'rolled_back',
  'failed',
  'rollback_failed',
  'errored',
  'aborted',
];

/** What is told to GitHub of a notice. */
export interface GithubState<State> {
  readonly commit: string;
  readonly state: State;
  /** Whether there is something to tell also where GitHub has not heard of it yet. */
  readonly begins: boolean;
}

/**
 * What a notice says of a GitHub deployment; a sentence where it says nothing. A release is the deployment of its commit,
 * a rollback that was asked for one of the commit that it put back. A release that was rolled back is a failed deployment:
 * GitHub then shows the one before it as the active one.
 */
export function deploymentStateOf(notice: Notice): GithubState<DeploymentState> | string {
  const { kind, event, servingCommit } = notice;
  if (kind === 'rollback') {
    if (event !== 'rolled_back') return `GitHub has no deployment for ${event}`;
    return ofCommit(servingCommit, 'success', true);
  }
  return ofRelease(notice, 'in_progress');
}

/** What a notice says of a commit; a sentence where it says nothing. Statuses are of releases alone. */
export function commitStateOf(notice: Notice): GithubState<CommitState> | string {
  return ofRelease(notice, 'pending');
}

function ofRelease<Begun>(
  { kind, event, commit }: Notice,
  begun: Begun,
): GithubState<Begun | 'success' | 'failure' | 'error'> | string {
  if (kind !== 'release') return `GitHub gets notices of releases, not of ${event}`;
  switch (event) {
    case 'release_started':
      return ofCommit(commit, begun, true);
    case 'released':
      return ofCommit(commit, 'success', true);
    case 'rolled_back':
    case 'failed':
    case 'rollback_failed':
      return ofCommit(commit, 'failure', true);
    case 'errored':
      return ofCommit(commit, 'error', true);
    case 'aborted':
      // One that was withdrawn never began, and GitHub has never heard of it.
      return ofCommit(commit, 'error', false);
    default:
      return `GitHub has no status for ${event}`;
  }
}

function ofCommit<State>(commit: string | null, state: State, begins: boolean): GithubState<State> | string {
  if (commit === null) return 'no commit is known';
  if (!COMMIT.test(commit)) return 'the source differs from its commit, which GitHub does not know';
  return { commit, state, begins };
}

/** A whole commit: what a source is released from that differs from its commit ends in `-dirty`. */
const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/u;
