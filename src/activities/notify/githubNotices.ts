import type { GithubClient, GithubStatus } from '../../clients/notify/github.ts';
import { commitStateOf, deploymentStateOf } from '../../domain/notify/githubStates.ts';
import type {
  GithubDeploymentReceiver,
  GithubStatusReceiver,
  SentNotice,
} from '../../domain/notify/notice.ts';
import { noticeTitle, shortText } from '../../domain/notify/noticeText.ts';

/**
 * Reports a release as a GitHub deployment. It first looks for the release's deployment, so that there is only one
 * however often the release is reported.
 * @returns a short description of the result.
 */
export async function sendDeploymentStatus(
  github: GithubClient,
  { environment: named }: GithubDeploymentReceiver,
  notice: SentNotice,
): Promise<string> {
  const stateOrReason = deploymentStateOf(notice);
  if (typeof stateOrReason === 'string') return nothingTold(stateOrReason);
  const { commit, state, begins } = stateOrReason;
  const environment = named ?? notice.target;
  const key = `${notice.targetId}/${notice.name ?? ''}`;
  const found = (await github.deployments(commit, environment)).find((deployment) => deployment.key === key);
  if (found === undefined && !begins) return nothingTold('it has never begun');
  const deployment =
    found ?? (await github.createDeployment({ commit, environment, key, description: noticeTitle(notice) }));
  const description = shortText(notice);
  const earlier = found === undefined ? [] : await github.deploymentStatuses(found.id);
  const standing = whatStands(earlier, { state, description });
  if (standing !== undefined) return `deployment ${deployment.id}: ${standing}`;
  await github.createDeploymentStatus(deployment.id, { state, description, environment, ...linkOf(notice) });
  return `deployment ${deployment.id}: ${state}`;
}

/**
 * Reports a release as a status of its commit.
 * @returns a short description of the result.
 */
export async function sendCommitStatus(
  github: GithubClient,
  { context: named }: GithubStatusReceiver,
  notice: SentNotice,
): Promise<string> {
  const stateOrReason = commitStateOf(notice);
  if (typeof stateOrReason === 'string') return nothingTold(stateOrReason);
  const { commit, state, begins } = stateOrReason;
  const context = named ?? `slipway/${notice.target}`;
  const description = shortText(notice);
  const ofRelease = (await github.commitStatuses(commit, context)).filter((status) =>
    status.description.startsWith(`${notice.name ?? ''}:`),
  );
  if (ofRelease.length === 0 && !begins) return nothingTold('it has never begun');
  const standing = whatStands(ofRelease, { state, description });
  if (standing !== undefined) return `commit ${commit}: ${standing}`;
  await github.createCommitStatus(commit, { state, description, context, ...linkOf(notice) });
  return `commit ${commit}: ${state}`;
}

/** Why a status is no news: it is set already, or it says that a release has begun that has ended meanwhile. */
function whatStands(
  [newest]: readonly GithubStatus[],
  { state, description }: GithubStatus,
): string | undefined {
  if (newest === undefined) return undefined;
  if (newest.state === state && newest.description === description) return `is ${state} already`;
  return BEGUN.has(state) && !BEGUN.has(newest.state) ? `is ${newest.state} by now` : undefined;
}

const BEGUN: ReadonlySet<string> = new Set(['in_progress', 'pending']);

/** The page, which also links to the CI run. Without a page: the CI run that asked. */
function linkOf({ dashboardUrl, by: { from } }: SentNotice): { readonly url?: string } {
  if (dashboardUrl !== null) return { url: dashboardUrl };
  return /^https?:\/\/\S+$/u.test(from) ? { url: from } : {};
}

function nothingTold(why: string): string {
  return `nothing to report: ${why}`;
}
