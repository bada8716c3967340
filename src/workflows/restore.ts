import { type Check } from '../domain/check.ts';
import { type ErrorCode } from '../domain/errors.ts';
import { type Baseline, type KnownRevision } from '../domain/release.ts';
import { restoreCandidates, type RestoreCandidate } from '../domain/restoreChoice.ts';
import { type DeploymentSnapshot } from '../domain/revision.ts';
import { type TargetSpec } from '../domain/targetSpec.ts';
import { bringUp, runChecks } from './bringUp.ts';
import { explain } from './failure.ts';
import { type Journal, now } from './journal.ts';
import { sendOnce } from './sendOnce.ts';
import { activitiesOf, stepPolicy } from './steps.ts';

/** What is to be put back, and how it is judged. */
export interface RestoreOrder {
  readonly target: TargetSpec;
  readonly deploymentId: string;
  readonly checks: readonly Check[];
  /** The revision that a person asked for. */
  readonly to: string | undefined;
  readonly baseline: Baseline | null;
  /** Oldest first. */
  readonly known: readonly KnownRevision[];
  /** Never put back, unless a person asked for it by name. */
  readonly avoid: readonly string[];
  /** The upload path that the release shipped: a revision that carries it was made by no redeploy. */
  readonly shippedPath: string | null;
}

/** How putting a revision back ended. */
export type Restored =
  | {
      readonly ok: true;
      readonly revisionId: string;
      readonly verified: boolean;
      readonly agentUrl: string;
      readonly knownRevisions: readonly KnownRevision[];
    }
  | {
      readonly ok: false;
      /** `true` where there was nothing that could have been put back. */
      readonly nothingToRestore: boolean;
      readonly reason: string;
      readonly code: ErrorCode;
      readonly attempted: readonly string[];
      readonly knownRevisions: readonly KnownRevision[];
    };

/**
 * Puts a good revision back: the one path that an automatic and a manual rollback share. Walks over the candidates,
 * best first, until one is deployed, serves, and passes the checks that it passed before. Never throws for what the
 * outside does, and never goes round: each candidate is tried once.
 *
 * To be run in a non-cancellable scope.
 */
export async function restore(journal: Journal, order: RestoreOrder): Promise<Restored> {
  journal.restoring = true;
  try {
    return await walkBack(journal, order);
  } finally {
    journal.restoring = false;
  }
}

async function walkBack(journal: Journal, order: RestoreOrder): Promise<Restored> {
  const candidates = restoreCandidates(order);
  const attempted: string[] = [];
  const knownRevisions: KnownRevision[] = [];
  const word = (revisionId: string): Omit<KnownRevision, 'verified'> => {
    const artifact = order.known.find((known) => known.revisionId === revisionId)?.artifact;
    return { revisionId, at: now(), ...(artifact === undefined ? {} : { artifact }) };
  };
  let reason = 'there is no revision to go back to';
  let code: ErrorCode = 'SLIPWAY_NOTHING_TO_RESTORE';
  for (const candidate of candidates) {
    attempted.push(candidate.revisionId);
    try {
      const { revisionId, agentUrl, verified } = await putBack(journal, order, candidate);
      knownRevisions.push({ ...word(candidate.revisionId), revisionId, verified });
      return { ok: true, revisionId, verified, agentUrl, knownRevisions };
    } catch (error) {
      const failure = explain(error);
      code = failure.code;
      reason = `revision ${candidate.revisionId} could not be put back: ${failure.message}`;
      if (failure.code === 'SLIPWAY_CHECK_FAILED') {
        knownRevisions.push({ ...word(candidate.revisionId), verified: false });
      }
    }
  }
  return { ok: false, nothingToRestore: candidates.length === 0, reason, code, attempted, knownRevisions };
}

/** Puts one revision back. An unverified one is taken as it was: its checks are not asked. */
async function putBack(
  journal: Journal,
  order: RestoreOrder,
  candidate: RestoreCandidate,
): Promise<{ readonly revisionId: string; readonly verified: boolean; readonly agentUrl: string }> {
  const { target, deploymentId } = order;
  const revisionId = await redeploy(journal, order, candidate.revisionId);
  const subject = { target, deploymentId, revisionId };
  const agentUrl = await bringUp(journal, subject);
  const judged = candidate.verified || candidate.revisionId === order.to;
  if (judged) await runChecks(journal, subject, agentUrl, order.checks);
  return { revisionId, verified: judged, agentUrl };
}

/**
 * Redeploys a revision.
 *
 * @returns the revision to follow: a new one where the redeploy made one, else the one asked for (design, rule 3).
 */
async function redeploy(journal: Journal, order: RestoreOrder, revisionId: string): Promise<string> {
  const { target, deploymentId, shippedPath } = order;
  const policy = stepPolicy('redeploy', journal.overrides);
  // Giving up on a read is giving up on the redeploy: it is tried for as long.
  const { scheduleToCloseMs } = policy;
  const patient = { ...journal.overrides, find: { ...journal.overrides.find, scheduleToCloseMs } };
  const reads = activitiesOf('find', patient, 'read the deployment');
  return journal.step('redeploy', revisionId, async (activities) => {
    const { deployment: before } = await reads.readDeployment({ target, deploymentId });
    const madeBy = (now: DeploymentSnapshot): string | undefined => {
      const { latestRevisionId, latestTarballPath } = now;
      if (latestRevisionId === null || latestRevisionId === before.latestRevisionId) return undefined;
      const landedLate = shippedPath !== null && latestTarballPath === shippedPath;
      return landedLate ? undefined : latestRevisionId;
    };
    const { result, attempts } = await sendOnce({
      what: 'the redeploy',
      send: async () => {
        const { deployment } = await activities.redeployRevision({ target, deploymentId, revisionId });
        return madeBy(deployment) ?? revisionId;
      },
      settle: async () => {
        const { deployment } = await reads.readDeployment({ target, deploymentId });
        const made = madeBy(deployment);
        if (made !== undefined) return made;
        const moved = before.activeRevisionId !== revisionId && deployment.activeRevisionId === revisionId;
        return moved ? revisionId : undefined;
      },
      // Redeploying the same revision twice leaves the deployment where once does.
      absenceIsTelling: true,
      policy,
      abandoned: () => false,
    });
    return { result, attempts, detail: `following ${result}` };
  });
}

/** Reads what serves, for the report; `undefined` where that cannot be read. */
export async function readActive(
  journal: Journal,
  target: TargetSpec,
  deploymentId: string,
): Promise<string | null | undefined> {
  try {
    const reads = activitiesOf('find', journal.overrides, 'read what serves');
    return (await reads.readDeployment({ target, deploymentId })).deployment.activeRevisionId;
  } catch (error) {
    journal.note({ phase: `could not read what serves: ${explain(error).message}` });
    return undefined;
  }
}
