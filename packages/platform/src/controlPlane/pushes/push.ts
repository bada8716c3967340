import { z } from 'zod';

import { readGitUrl, repositoryIdentity } from '../../git/gitUrl.ts';
import { fullName } from '../../git/remoteRefs.ts';
import type { FollowedBranch } from './followedBranch.ts';

const CommitId = z.string().regex(/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/);
const BRANCH_PREFIX = 'refs/heads/';

/** The `push` event as GitHub sends it, and others who send it as GitHub does: what of it is looked at. */
export const Push = z.looseObject({
  /** The full name of what was pushed. */
  ref: z.string(),
  /** The commit that it led to before; all zeros where there was none. */
  before: CommitId,
  /** The commit that it leads to now; all zeros where it is deleted. */
  after: CommitId,
  repository: z.looseObject({
    clone_url: z.string().nullish(),
    ssh_url: z.string().nullish(),
    git_url: z.string().nullish(),
    html_url: z.string().nullish(),
    default_branch: z.string().nullish(),
  }),
});
export type Push = z.infer<typeof Push>;

/** What a push means for one branch that is followed. */
export type PushMeaning =
  /** It is of another repository, or another branch. */
  | 'elsewhere'
  /** It goes on from where the branch was followed to. */
  | 'moved'
  /** A revision of this commit is there. */
  | 'known'
  /** Another push was missed, or came first: only the repository knows where the branch is now. */
  | 'unclear';

/** Why a push is of no branch at all; undefined where it is of one. */
export function pushToNoBranch({ ref, after }: Push): string | undefined {
  if (!ref.startsWith(BRANCH_PREFIX)) return `${ref} is no branch: nothing is built.`;
  return /^0+$/.test(after) ? `The branch ${ref} was deleted: nothing is built.` : undefined;
}

/** Whether a push is of the branch that a deployment follows, and what it means for it. */
export function pushMeaning(push: Push, branch: FollowedBranch): PushMeaning {
  const { clone_url, ssh_url, git_url, html_url, default_branch: main } = push.repository;
  const ref = branch.ref ?? main;
  if (ref == null || fullName(ref) !== push.ref) return 'elsewhere';
  const own = identityOf(branch.repository.repoUrl);
  if (![clone_url, ssh_url, git_url, html_url].some((url) => url != null && identityOf(url) === own)) {
    return 'elsewhere';
  }
  if (branch.commit === push.after) return 'known';
  return branch.commit === null || branch.commit === push.before ? 'moved' : 'unclear';
}

function identityOf(address: string): string | undefined {
  const reading = readGitUrl(address);
  if (reading.ok) return repositoryIdentity(reading.url);
  // A host names itself as it is reached from outside, http and git:// included: of importance is only who it is.
  const asWeb = readGitUrl(address.replace(/^(http|git):\/\//, 'https://'));
  return asWeb.ok ? repositoryIdentity(asWeb.url) : undefined;
}
