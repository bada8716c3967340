import type { Activities } from '../activities/activities.ts';
import type { Check } from '../domain/check.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { Baseline, KnownRevision } from '../domain/release.ts';
import { restoreCandidates, type RestoreCandidate } from '../domain/restoreChoice.ts';
import type { DeploymentSnapshot } from '../domain/revision.ts';
import type { TargetSpec } from '../domain/targetSpec.ts';
import { bringUp, runChecks } from './bringUp.ts';
import { explain, type StepFailure } from './failure.ts';
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
export type Restored = {
  /** Revisions that the redeploys made, whatever became of them. */
  readonly copyRevisionIds: readonly string[];
} & (
  | {
      readonly ok: true;
      readonly revisionId: string;
      readonly verified: boolean;
      readonly agentUrl: string;
      readonly knownRevisions: readonly KnownRevision[];
      /** Revisions that were tried before it, and may still come up. */
      readonly givenUpRevisionIds: readonly string[];
    }
  | {
      readonly ok: false;
      /** `true` where there was nothing that could have been put back. */
      readonly nothingToRestore: boolean;
      readonly reason: string;
      readonly code: ErrorCode;
      readonly attempted: readonly string[];
      readonly knownRevisions: readonly KnownRevision[];
    }
);

/**
 * Puts a good revision back: the one path that an automatic and a manual rollback share. Walks over the candidates,
 * best first, until one is deployed, serves, and passes the checks that it passed before. Never throws for what the
 * outside does, and never goes round: each candidate is tried once, and once more where a revision that was given up on
 * came up only now and took its place.
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
  const givenUpRevisionIds: string[] = [];
  const copyRevisionIds: string[] = [];
  const word = (revisionId: string): Omit<KnownRevision, 'verified'> => {
    const artifact = order.known.find((known) => known.revisionId === revisionId)?.artifact;
    return { revisionId, at: now(), ...(artifact === undefined ? {} : { artifact }) };
  };
  const overtook: string[] = [];
  let reason = 'there is no revision to go back to';
  let code: ErrorCode = 'SLIPWAY_NOTHING_TO_RESTORE';
  const turns = [...candidates];
  for (let candidate = turns.shift(); candidate !== undefined; candidate = turns.shift()) {
    if (attempted.at(-1) !== candidate.revisionId) attempted.push(candidate.revisionId);
    const attempt: Attempt = { revisionId: candidate.revisionId, stage: 'asking', overtakers: [] };
    const noteCopy = (): void => {
      if (attempt.revisionId !== candidate.revisionId) copyRevisionIds.push(attempt.revisionId);
    };
    try {
      const { revisionId, agentUrl, verified } = await putBack(journal, order, candidate, attempt);
      noteCopy();
      knownRevisions.push({ ...word(candidate.revisionId), revisionId, verified });
      const restored = { revisionId, verified, agentUrl, knownRevisions };
      return { ok: true, ...restored, givenUpRevisionIds, copyRevisionIds };
    } catch (error) {
      noteCopy();
      const failure = explain(error);
      const overtaker = await overtakerOf(journal, order, attempt, failure);
      if (overtaker !== undefined && !overtook.includes(overtaker)) {
        overtook.push(overtaker);
        journal.note({ phase: `revision ${overtaker} came up meanwhile: ${candidate.revisionId} once more` });
        turns.unshift(candidate);
        continue;
      }
      code = failure.code;
      reason = `revision ${candidate.revisionId} could not be put back: ${failure.message}`;
      if (mayComeUp(attempt, failure)) givenUpRevisionIds.push(attempt.revisionId);
      if (failure.code === 'SLIPWAY_CHECK_FAILED') {
        knownRevisions.push({ ...word(candidate.revisionId), verified: false });
      }
    }
  }
  const nothingToRestore = candidates.length === 0;
  return { ok: false, nothingToRestore, reason, code, attempted, knownRevisions, copyRevisionIds };
}

/** How far putting one revision back has come. */
interface Attempt {
  /** The revision to follow. */
  revisionId: string;
  stage: 'asking' | 'coming up' | 'served';
  /** Revisions that were given up on and were not active when this one was asked for: they may still come up. */
  overtakers: readonly string[];
}

/** The revision that was given up on and came up in place of the one that was put back; `undefined`: none did. */
async function overtakerOf(
  journal: Journal,
  { target, deploymentId }: RestoreOrder,
  { overtakers }: Attempt,
  { code }: StepFailure,
): Promise<string | undefined> {
  const replaced = code === 'SLIPWAY_REVISION_REPLACED' || code === 'SLIPWAY_NOT_SERVING';
  if (!replaced || overtakers.length === 0) return undefined;
  const active = await readActive(journal, target, deploymentId);
  return overtakers.find((revisionId) => revisionId === active);
}

/** Whether a revision whose turn is over may still become the active one, of which another has become that by then. */
function mayComeUp({ stage }: Attempt, { code, mayHaveBeenTaken }: StepFailure): boolean {
  if (stage === 'asking') return mayHaveBeenTaken;
  return stage === 'coming up' && code !== 'SLIPWAY_REVISION_FAILED';
}

/** Puts one revision back. An unverified one is taken as it was: its checks are not asked. */
async function putBack(
  journal: Journal,
  order: RestoreOrder,
  candidate: RestoreCandidate,
  attempt: Attempt,
): Promise<{ readonly revisionId: string; readonly verified: boolean; readonly agentUrl: string }> {
  const { target, deploymentId } = order;
  const { revisionId, activeBefore } = await redeploy(journal, order, candidate.revisionId);
  attempt.revisionId = revisionId;
  attempt.stage = 'coming up';
  attempt.overtakers = order.avoid.filter((other) => other !== activeBefore && other !== revisionId);
  const subject = { target, deploymentId, revisionId };
  const agentUrl = await bringUp(journal, subject, attempt.overtakers);
  attempt.stage = 'served';
  const judged = candidate.verified || candidate.revisionId === order.to;
  if (judged) await runChecks(journal, subject, agentUrl, order.checks);
  return { revisionId, verified: judged, agentUrl };
}

/**
 * Redeploys a revision.
 *
 * @returns the revision to follow: a new one where the redeploy made one, else the one asked for (design, rule 3); and
 *   which one was active before.
 */
async function redeploy(
  journal: Journal,
  order: RestoreOrder,
  revisionId: string,
): Promise<{ readonly revisionId: string; readonly activeBefore: string | null }> {
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
        if (made !== undefined && (await isCopy(reads, order, made, revisionId))) return made;
        const moved = before.activeRevisionId !== revisionId && deployment.activeRevisionId === revisionId;
        return moved ? revisionId : undefined;
      },
      // "Not carried out" is enough here: redeploying the same revision twice leaves the deployment where once does.
      policy,
      abandoned: () => false,
    });
    const { activeRevisionId: activeBefore } = before;
    return { result: { revisionId: result, activeBefore }, attempts, detail: `following ${result}` };
  });
}

/**
 * Whether a revision that came after a redeploy without an answer was made of the one that was asked for: it carries the
 * same upload. Otherwise it is somebody else's, who changed the deployment at the same time. An image or a git ref carries
 * none: there, whatever came after is taken for the copy.
 */
async function isCopy(
  reads: Activities,
  { target, deploymentId }: RestoreOrder,
  made: string,
  of: string,
): Promise<boolean> {
  const read = (revisionId: string) => reads.readRevision({ target, deploymentId, revisionId });
  const [copy, original] = [await read(made), await read(of)];
  return copy.revision.tarballPath === original.revision.tarballPath;
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
