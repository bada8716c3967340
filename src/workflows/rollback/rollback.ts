import { CancellationScope, setHandler, uuid4, workflowInfo } from '@temporalio/workflow';

import { isAnother, isSameRevision, leaveRevision, withCopies } from '../../domain/deployment/revision.ts';
import { revisionText, wordsOf } from '../../domain/deployment/revisionName.ts';
import { INTERVENTION_KINDS } from '../../domain/intervention/intervention.ts';
import type { KnownRevision, ReleaseResult } from '../../domain/release/release.ts';
import { isVerified, previousVerified } from '../../domain/restore/restoreDecision.ts';
import {
  INTERVENTION_SIGNALS,
  INTERVENTION_UPDATES,
  type InterventionMessage,
  readInterventionMessage,
} from '../../messages/release.ts';
import type { RollbackInput } from '../../messages/workflowTypes.ts';
import { claimDeployment } from '../deployment/deployment.ts';
import { endWorkflow, explain, refuse } from '../failure.ts';
import { RollbackProof, targetOf } from '../identity/rollbackProof.ts';
import { Journal, now } from '../journal.ts';
import { conclude, emptyConclusion, type Ending, instructionsAfter } from '../release/conclude.ts';
import { missedText } from '../release/preempted.ts';
import { findDeployment } from '../release/ship.ts';
import { readActive, restore, servesAgain, whileRestoring } from '../restore/restore.ts';
import { Settings } from '../restore/settings.ts';

/** One manual rollback on an idle target. It always runs to its end: it is never rolled back or stopped halfway. */
export async function rollback(input: RollbackInput): Promise<ReleaseResult> {
  return endWorkflow(await CancellationScope.nonCancellable(() => rollBack(input)));
}

async function rollBack(input: RollbackInput): Promise<ReleaseResult> {
  const { releaseId, request, lastRequest } = input;
  let { known } = input;
  const { recordStore } = lastRequest;
  const settings = new Settings(input.lastGood, lastRequest.target);
  const journal = new Journal(releaseId, 'rollback', lastRequest.steps, recordStore);
  refuseInterventions(journal);
  const proof = new RollbackProof();
  proof.begin(request, recordStore, targetOf(workflowInfo().workflowId));
  const finish = ({ stuck, ...ending }: Ending): Promise<ReleaseResult> => {
    const { deploymentId = null, knownRevisions = [] } = ending;
    const situation = { deploymentId, baseline: null, known: [...known, ...knownRevisions] };
    const conclusion = {
      ...emptyConclusion(lastRequest.target.name, proof.recorded(request)),
      instructions: instructionsAfter({ target: settings.current, ...situation }, ending, stuck),
      ...ending,
    };
    return conclude(journal, conclusion, recordStore);
  };

  let deployment;
  try {
    deployment = await whileRestoring(journal, () =>
      settings.under((target) => findDeployment(journal, target)),
    );
  } catch (error) {
    const { code, message } = explain(error);
    return finish({
      outcome: 'rollback_failed',
      code,
      reason: `the deployment could not be read: ${message}`,
    });
  }
  if (deployment === null) {
    return finish({
      outcome: 'failed',
      code: 'SLIPWAY_NOTHING_TO_RESTORE',
      reason: `there is no deployment "${lastRequest.target.deployment}"`,
    });
  }
  const { deploymentId, activeRevisionId } = deployment;
  journal.note({ deploymentId });
  const knowsNone = isAnother(deploymentId, input.knownIn);
  if (knowsNone) known = [];
  const serving = {
    servingRevisionId: activeRevisionId,
    servingVerified: isVerified(known, activeRevisionId),
  };
  const { from } = request;
  if (from !== undefined && activeRevisionId !== null && !isSameRevision(known, from, activeRevisionId)) {
    const serves = revisionText(wordsOf({ known, history: [] }, activeRevisionId));
    const reason = `revision ${from} does not serve any more; ${serves} does`;
    return finish({ outcome: 'rolled_back', reason, deploymentId, ...serving });
  }
  try {
    await whileRestoring(journal, () => claimDeployment(journal, settings.current, deploymentId, input.owns));
  } catch (error) {
    const { code, message } = explain(error);
    return finish({ outcome: 'failed', code, reason: `nothing was changed: ${message}`, ...serving });
  }
  // With `from`, the target chose it among the revisions that it knew.
  const named = knowsNone && from !== undefined ? undefined : request.to;
  const to = named ?? previousVerified(known, activeRevisionId);
  if (to === undefined) {
    return finish({
      outcome: 'failed',
      code: 'SLIPWAY_NOTHING_TO_RESTORE',
      reason: 'no earlier verified revision is known; name one to go back to',
      deploymentId,
      ...serving,
    });
  }
  const restored = await restore(journal, {
    settings,
    deploymentId,
    recordStore,
    to,
    manual: true,
    baseline: null,
    known,
    passed: [],
    found: [],
    avoid: activeRevisionId === null ? [] : withCopies(known, activeRevisionId),
    shippedPath: null,
  });
  if (!restored.ok) {
    const { code, reason, attempted, knownRevisions } = restored;
    const news = [...known, ...knownRevisions];
    const servingRevisionId = (await readActive(journal, settings.current, deploymentId)) ?? null;
    return finish({
      outcome: 'rollback_failed',
      reason,
      code,
      deploymentId,
      servingRevisionId,
      servingVerified: isVerified(news, servingRevisionId),
      knownRevisions,
      stuck: { code, attempted, known: [...news, ...leftBehind(news, activeRevisionId, to)] },
    });
  }
  const { failed, revisionId } = restored;
  const news = [...known, ...restored.knownRevisions];
  const missed = missedText(journal, request, news, revisionId);
  const serves = revisionText(wordsOf({ known: news, history: [] }, revisionId));
  return finish({
    outcome: failed === null ? 'rolled_back' : 'errored',
    reason: `${missed}${failed?.reason ?? servesAgain(restored, serves)}`,
    code: failed?.code ?? (missed === '' ? null : 'SLIPWAY_REVISION_NOT_REACHED'),
    stuck: failed === null ? undefined : { code: failed.code, attempted: [], restored: revisionId },
    settingsWorked: (failed === null && settings.areNewest) || undefined,
    deploymentId,
    servingRevisionId: restored.revisionId,
    servingVerified: restored.verified,
    givenUpRevisionIds: restored.givenUpRevisionIds,
    copyRevisionIds: restored.copyRevisionIds,
    knownRevisions: [...leftBehind(news, activeRevisionId, restored.revisionId), ...restored.knownRevisions],
    agentUrl: restored.agentUrl,
  });
}

/** Marks the revision that a person rolled back from, and its copies: they are not restored automatically any longer. */
function leftBehind(
  known: readonly KnownRevision[],
  left: string | null,
  restored: string,
): readonly KnownRevision[] {
  if (left === null || isSameRevision(known, left, restored)) return [];
  return leaveRevision(known, left, now()).filter(({ revisionId }) =>
    isSameRevision(known, revisionId, left),
  );
}

/** Refuses interventions in a running rollback: updates with its phase as the reason; signals are recorded. */
function refuseInterventions(journal: Journal): void {
  const moment = (): string =>
    journal.progress.outcome === null
      ? 'a rollback is never stopped or held up halfway'
      : 'the rollback has ended';
  for (const kind of INTERVENTION_KINDS) {
    const refuseIt = (_message: InterventionMessage): never => refuse(moment(), 'SLIPWAY_WRONG_MOMENT');
    setHandler(INTERVENTION_UPDATES[kind], refuseIt, { validator: refuseIt });
    setHandler(INTERVENTION_SIGNALS[kind], (message) => {
      const id = uuid4();
      const said = readInterventionMessage(message, kind, 'signal', id);
      const record =
        typeof said === 'string'
          ? { id, kind, by: { who: 'unknown', from: 'signal' }, note: said }
          : { ...said, note: moment() };
      journal.intervention({ ...record, at: now(), taken: false });
    });
  }
}
