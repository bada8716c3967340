import { CancellationScope } from '@temporalio/workflow';

import type { ErrorCode } from '../domain/errors.ts';
import { restoreInstructions } from '../domain/instructions.ts';
import type { KnownRevision, ReleaseResult } from '../domain/release.ts';
import { previousVerified } from '../domain/restoreChoice.ts';
import { conclude, type Conclusion } from './conclude.ts';
import { explain } from './failure.ts';
import { Journal } from './journal.ts';
import type { RollbackInput } from './messages.ts';
import { refuseInterventions } from './refuseInterventions.ts';
import { readActive, restore } from './restore.ts';

/**
 * One manual rollback on an idle target. Runs to its end whatever happens: a rollback is never rolled back, and never
 * stopped halfway.
 */
export async function rollback(input: RollbackInput): Promise<ReleaseResult> {
  return CancellationScope.nonCancellable(() => rollBack(input));
}

async function rollBack(input: RollbackInput): Promise<ReleaseResult> {
  const { releaseId, request, lastRequest, known } = input;
  const { target, checks, recordStore } = lastRequest;
  const journal = new Journal(releaseId, 'rollback', lastRequest.steps, lastRequest.recordStore);
  refuseInterventions(journal);
  const finish = (
    ending: Pick<Conclusion, 'outcome' | 'reason'> & Partial<Conclusion>,
  ): Promise<ReleaseResult> => conclude(journal, { ...emptyConclusion(input), ...ending }, recordStore);
  const needsPerson = (
    deploymentId: string | null,
    restored: { readonly code: ErrorCode; readonly reason: string; readonly attempted: readonly string[] },
    knownRevisions: readonly KnownRevision[],
    servingRevisionId: string | null,
  ): Promise<ReleaseResult> => {
    const { code, reason, attempted } = restored;
    const words = [...known, ...knownRevisions];
    const instructions = restoreInstructions({
      ...{ target, deploymentId, baseline: null, known: words },
      ...{ reason, code, attempted },
    });
    const situation = { deploymentId, knownRevisions, servingRevisionId };
    return finish({ outcome: 'rollback_failed', code, reason, instructions, ...situation });
  };

  let deployment;
  try {
    deployment = await journal.step('find', target.deployment, async (activities) => {
      const { deployment: found, attempt } = await activities.findDeployment({ target });
      return { result: found, attempts: attempt, detail: found?.deploymentId ?? 'there is none' };
    });
  } catch (error) {
    const { code, message } = explain(error);
    const reason = `the deployment could not be read: ${message}`;
    return needsPerson(null, { code, reason, attempted: [] }, [], null);
  }
  if (deployment === null) {
    return finish({
      outcome: 'failed',
      code: 'SLIPWAY_NOTHING_TO_RESTORE',
      reason: `there is no deployment "${target.deployment}"`,
    });
  }
  const { deploymentId, activeRevisionId } = deployment;
  journal.note({ deploymentId });
  const serving = {
    servingRevisionId: activeRevisionId,
    servingVerified: known.some(({ revisionId, verified }) => revisionId === activeRevisionId && verified),
  };
  const to = request.to ?? previousVerified(known, activeRevisionId);
  if (to === undefined) {
    return finish({
      outcome: 'failed',
      code: 'SLIPWAY_NOTHING_TO_RESTORE',
      reason: 'no earlier verified revision is known; name one to go back to',
      deploymentId,
      ...serving,
    });
  }
  const unknown = await whyUnknown(journal, input, deploymentId, to);
  if (unknown !== undefined) {
    return finish({ outcome: 'failed', ...unknown, deploymentId, ...serving });
  }
  const restored = await restore(journal, {
    target,
    deploymentId,
    checks,
    to,
    baseline: null,
    known,
    avoid: activeRevisionId === null ? [] : [activeRevisionId],
    shippedPath: null,
  });
  if (!restored.ok) {
    const serving = await readActive(journal, target, deploymentId);
    return needsPerson(deploymentId, restored, restored.knownRevisions, serving ?? null);
  }
  return finish({
    outcome: 'rolled_back',
    reason: `revision ${restored.revisionId} serves again${restored.verified ? '' : ', unverified'}`,
    deploymentId,
    servingRevisionId: restored.revisionId,
    servingVerified: restored.verified,
    givenUpRevisionIds: restored.givenUpRevisionIds,
    copyRevisionIds: restored.copyRevisionIds,
    knownRevisions: [...quarantine(known, activeRevisionId, restored.revisionId), ...restored.knownRevisions],
    agentUrl: restored.agentUrl,
  });
}

/**
 * Why a revision that a person named, and that the target has never dealt with, is none of this deployment: then it
 * is a slip of the pen, and nothing is changed. `undefined` where it is one, or where that cannot be told.
 */
async function whyUnknown(
  journal: Journal,
  { lastRequest: { target }, known }: RollbackInput,
  deploymentId: string,
  revisionId: string,
): Promise<{ readonly code: ErrorCode; readonly reason: string } | undefined> {
  if (known.some((revision) => revision.revisionId === revisionId)) return undefined;
  try {
    await journal.step('find', `revision ${revisionId}`, async (activities) => {
      const { revision, attempt } = await activities.readRevision({ target, deploymentId, revisionId });
      return { result: undefined, attempts: attempt, detail: revision.status };
    });
    return undefined;
  } catch (error) {
    const { code, message } = explain(error);
    if (code !== 'SLIPWAY_NOT_FOUND' && code !== 'SLIPWAY_REFUSED') return undefined;
    const reason = `there is no revision "${revisionId}" to go back to, and nothing was changed: ${message}`;
    return { code, reason };
  }
}

/** What a person rolled back from is not put back again by itself, however well it passed its checks. */
function quarantine(
  known: readonly KnownRevision[],
  left: string | null,
  restored: string,
): readonly KnownRevision[] {
  return known
    .filter((revision) => revision.revisionId === left && left !== restored)
    .map((revision) => ({ ...revision, quarantined: true }));
}

function emptyConclusion({ request, lastRequest }: RollbackInput): Omit<Conclusion, 'outcome' | 'reason'> {
  return {
    target: lastRequest.target.name,
    deploymentId: null,
    artifact: null,
    commit: null,
    requestKey: null,
    code: null,
    instructions: null,
    revisionId: null,
    servingRevisionId: null,
    servingVerified: false,
    extraRevisionIds: [],
    givenUpRevisionIds: [],
    knownRevisions: [],
    agentUrl: null,
    requestedBy: request.requestedBy,
    preemptedBy: null,
  };
}
