import type { GithubClient, GithubStatus } from '../../clients/notify/github.ts';
import { commitStateOf, deploymentStateOf } from '../../domain/notify/githubStates.ts';
import type {
  GithubDeploymentReceiver,
  GithubStatusReceiver,
  Notice,
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
  const ofTarget = `${notice.targetId}/`;
  const key = `${ofTarget}${notice.name ?? ''}`;
  const found = (await github.deployments(environment, commit)).find((deployment) => deployment.key === key);
  if (found === undefined) {
    if (!begins) return nothingTold('it has never begun');
    // GitHub takes the deployment that was created last for the one that serves.
    const others = await github.deployments(environment);
    const keys = others.flatMap((other) => (other.key?.startsWith(ofTarget) ? other.key : []));
    if (keys.some((other) => isLater(other.slice(ofTarget.length), notice))) return nothingTold(LATER);
  }
  const deployment =
    found ?? (await github.createDeployment({ commit, environment, key, description: noticeTitle(notice) }));
  const description = shortText(notice);
  const [newest] = found === undefined ? [] : await github.deploymentStatuses(found.id);
  const standing = whatStands(newest, { state, description });
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
  const own = `${notice.name ?? ''}:`;
  const statuses = await github.commitStatuses(commit, context, own);
  const newest = statuses.find((status) => status.description.startsWith(own));
  if (newest === undefined && !begins) return nothingTold('it has never begun');
  // Other targets may use the same context, with numbers of their own: what was set before the event is not later.
  const since = statuses.filter(
    ({ createdAt }) => createdAt.slice(0, SECONDS) >= notice.at.slice(0, SECONDS),
  );
  const names = since.map((status) => status.description.split(':', 1).join());
  if (names.some((name) => isLater(name, notice))) return nothingTold(LATER);
  const standing = whatStands(newest, { state, description });
  if (standing !== undefined) return `commit ${commit}: ${standing}`;
  await github.createCommitStatus(commit, { state, description, context, ...linkOf(notice) });
  return `commit ${commit}: ${state}`;
}

/** Why a status is no news: it is set already, or it says that a release has begun that has ended meanwhile. */
function whatStands(
  newest: GithubStatus | undefined,
  { state, description }: GithubStatus,
): string | undefined {
  if (newest === undefined) return undefined;
  if (newest.state === state && newest.description === description) return `is ${state} already`;
  return BEGUN.has(state) && !BEGUN.has(newest.state) ? `is ${newest.state} by now` : undefined;
}

const LATER = 'a later release was reported';
/** The characters of an ISO 8601 time up to its seconds. GitHub has no smaller unit. */
const SECONDS = 19;

/** Whether `other` names a later release or rollback of the same target: `rollback-4` after `release-3`. */
function isLater(other: string, { name }: Notice): boolean {
  return numberOf(other) > numberOf(name ?? '');
}

function numberOf(name: string): number {
  return Number(/^(?:release|rollback)-(\d+)$/u.exec(name)?.[1]);
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
