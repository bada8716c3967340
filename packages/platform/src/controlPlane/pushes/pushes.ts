import type { Kysely, Transaction } from 'kysely';
import { z } from 'zod';

import { readGitUrl, repositoryIdentity } from '../../git/gitUrl.ts';
import { fullName } from '../../git/remoteRefs.ts';
import type { Schema } from '../../store/schema.ts';
import { followBranch, type FollowedBranch, followedBranches } from './followedBranch.ts';

interface PushAnswer extends Record<string, unknown> {
  readonly decision: 'built' | 'looked_up' | 'nothing';
  readonly reason: string;
  readonly deployments: readonly PushedDeployment[];
}

interface PushedDeployment {
  readonly deployment_id: string;
  /** `built`: a revision was created. `known`: it existed. `looked_up`: the repository is queried. */
  readonly decision: 'built' | 'known' | 'looked_up';
  readonly revision_id: string | null;
}

/** How long deliveries are stored, in milliseconds: a week. */
const DELIVERY_RETENTION_MS = 7 * 86_400_000;

/** Handles pushes that git hosts report. */
export type Pushes = ReturnType<typeof createPushes>;

export function createPushes(options: {
  kysely: Kysely<Schema>;
  onRevisionsCreated: () => void;
  queryBranches: (branches: readonly FollowedBranch[]) => void;
}) {
  const { kysely } = options;
  return {
    /**
     * Handles one delivery: creates a revision for each deployment that follows the branch, in the transaction that
     * stores the delivery. So a repeated delivery creates nothing and gets the same answer.
     *
     * Decision: a push may not start from the commit that a deployment was followed to, because an earlier push was
     * missed or comes later. Then the repository is queried for the branch's commit. In whatever order pushes arrive,
     * the last build is the branch's newest commit.
     * @param deliveryId The sender's id of the delivery; undefined if it has none.
     */
    handleDelivery: async (
      integrationId: string,
      deliveryId: string | undefined,
      push: Push,
    ): Promise<PushAnswer> => {
      const branchesToQuery: FollowedBranch[] = [];
      const answer = await kysely.transaction().execute(async (trx) => {
        const earlier =
          deliveryId === undefined ? undefined : await storeDelivery(trx, integrationId, deliveryId);
        if (earlier !== undefined) return earlier;
        const decided = await decideDelivery(trx, integrationId, push, branchesToQuery);
        if (deliveryId !== undefined) {
          await trx
            .updateTable('push_deliveries')
            .set({ answer: JSON.stringify(decided) })
            .where('integration_id', '=', integrationId)
            .where('delivery_id', '=', deliveryId)
            .execute();
        }
        return decided;
      });
      options.queryBranches(branchesToQuery);
      options.onRevisionsCreated();
      return answer;
    },

    clean: async (): Promise<void> => {
      await kysely
        .deleteFrom('push_deliveries')
        .where('at', '<', new Date(Date.now() - DELIVERY_RETENTION_MS))
        .execute();
    },
  };
}

/** Stores the delivery, or returns the answer if it was stored before. Waits for a concurrent one. */
async function storeDelivery(
  trx: Transaction<Schema>,
  integrationId: string,
  deliveryId: string,
): Promise<PushAnswer | undefined> {
  const own = { integration_id: integrationId, delivery_id: deliveryId };
  const { numInsertedOrUpdatedRows: inserted } = await trx
    .insertInto('push_deliveries')
    .values({ ...own, answer: '{}', at: new Date() })
    .onConflict((conflict) => conflict.columns(['integration_id', 'delivery_id']).doNothing())
    .executeTakeFirstOrThrow();
  if (inserted === 1n) return undefined;
  const { answer } = await trx
    .selectFrom('push_deliveries')
    .select('answer')
    .where('integration_id', '=', integrationId)
    .where('delivery_id', '=', deliveryId)
    .executeTakeFirstOrThrow();
  return answer as PushAnswer;
}

async function decideDelivery(
  trx: Transaction<Schema>,
  integrationId: string,
  push: Push,
  branchesToQuery: FollowedBranch[],
): Promise<PushAnswer> {
  const noBranchReason = reasonNoBranch(push);
  if (noBranchReason !== undefined) return { decision: 'nothing', reason: noBranchReason, deployments: [] };
  const deployments: PushedDeployment[] = [];
  for (const branch of await followedBranches(trx, { integrationId })) {
    if (classifyPush(push, branch) === 'elsewhere') continue;
    deployments.push(await decideForDeployment(trx, branch, push, branchesToQuery));
  }
  if (deployments.length === 0) {
    return {
      decision: 'nothing',
      reason: `No deployment of this integration builds pushes to ${push.ref} of this repository.`,
      deployments,
    };
  }
  for (const [decision, reason] of [
    ['built', `Commit ${push.after} is built.`],
    ['looked_up', 'The platform reads the branch from the repository.'],
  ] as const) {
    if (deployments.some((each) => each.decision === decision)) return { decision, reason, deployments };
  }
  return { decision: 'nothing', reason: `Commit ${push.after} has a revision already.`, deployments };
}

async function decideForDeployment(
  trx: Transaction<Schema>,
  { deploymentId }: FollowedBranch,
  push: Push,
  branchesToQuery: FollowedBranch[],
): Promise<PushedDeployment> {
  let meaning: PushMeaning = 'known';
  const revision = await followBranch(trx, deploymentId, push.after, (branch) => {
    meaning = classifyPush(push, branch);
    if (meaning === 'unclear') branchesToQuery.push(branch);
    return meaning === 'moved';
  });
  const decisionWithoutRevision = (meaning as PushMeaning) === 'unclear' ? 'looked_up' : 'known';
  return {
    deployment_id: deploymentId,
    decision: revision === undefined ? decisionWithoutRevision : 'built',
    revision_id: revision ?? null,
  };
}

const CommitId = z.string().regex(/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/);
const BRANCH_PREFIX = 'refs/heads/';

/** The fields used of a `push` event from GitHub or a compatible host. */
export const Push = z.looseObject({
  /** The full name of the pushed ref. */
  ref: z.string(),
  /** The previous commit; all zeros if there was none. */
  before: CommitId,
  /** The new commit; all zeros if the ref was deleted. */
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

type PushMeaning =
  | 'elsewhere'
  /** It continues from the commit that the branch was followed to. */
  | 'moved'
  | 'known'
  /** Another push was missed or arrived early: only the repository knows the branch's commit. */
  | 'unclear';

function reasonNoBranch({ ref, after }: Push): string | undefined {
  if (!ref.startsWith(BRANCH_PREFIX)) return `${ref} is no branch: nothing is built.`;
  return /^0+$/.test(after) ? `The branch ${ref} was deleted: nothing is built.` : undefined;
}

/** Whether a push concerns the branch that a deployment follows, and its meaning. */
function classifyPush(push: Push, branch: FollowedBranch): PushMeaning {
  const { clone_url, ssh_url, git_url, html_url, default_branch: main } = push.repository;
  const ref = branch.ref ?? main;
  if (ref == null || fullName(ref) !== push.ref) return 'elsewhere';
  const own = repositoryIdentityOf(branch.repository.repoUrl);
  if (
    ![clone_url, ssh_url, git_url, html_url].some((url) => url != null && repositoryIdentityOf(url) === own)
  ) {
    return 'elsewhere';
  }
  if (branch.commit === push.after) return 'known';
  return branch.commit === null || branch.commit === push.before ? 'moved' : 'unclear';
}

function repositoryIdentityOf(address: string): string | undefined {
  const reading = readGitUrl(address);
  if (reading.ok) return repositoryIdentity(reading.url);
  // A host names its external addresses, http and git:// included. Only the identity of the repository matters.
  const asWeb = readGitUrl(address.replace(/^(http|git):\/\//, 'https://'));
  return asWeb.ok ? repositoryIdentity(asWeb.url) : undefined;
}
