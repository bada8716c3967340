import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancellationScope,
  executeChild,
  ParentClosePolicy,
  upsertSearchAttributes,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';

import { formatDuration } from '../../domain/duration.ts';
import { isOutcomeUnknown } from '../../domain/failure.ts';
import { SOAK } from '../../domain/intervention/intervention.ts';
import { promotionEndNotice } from '../../domain/notify/noticeContent.ts';
import {
  type Candidate,
  chooseCandidate,
  type TargetSeen,
  whySuperseded,
} from '../../domain/promotion/candidate.ts';
import { type PromotionResult, promotionWorkflowId } from '../../domain/promotion/promotion.ts';
import { isRollbackDone } from '../../domain/release/outcome.ts';
import { attribute } from '../../domain/searchAttributes.ts';
import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import type { HistoryRow } from '../../domain/target/targetState.ts';
import { type PromotionInput, WORKFLOW_TASK_TIMEOUT_MS } from '../../messages/workflowTypes.ts';
import { watchServing } from '../check/watchServing.ts';
import { endWorkflow, explain, pipelineFailure } from '../failure.ts';
import { passFreezes } from '../freeze/passFreezes.ts';
import { now } from '../journal.ts';
import { judgeCandidate } from '../judge/judgePromoted.ts';
import { measure } from '../measure.ts';
import { shortSummary } from '../steps.ts';
import {
  awaitRelease,
  confirmTargets,
  describeRelease,
  type Ending,
  holdIfBad,
  lookAtTargets,
  lookAtTarget,
  promotionActor,
  PromotionEnded,
  PromotionRun,
  releaseOnTarget,
  withdraw,
} from './promotionRun.ts';

/**
 * One promotion: releases to one target the artifact that is verified on another, after its soak and required
 * approvals. It sends requests to the targets and changes no deployment itself, so that each deployment keeps its one
 * owner.
 */
export async function promotion(input: PromotionInput): Promise<PromotionResult> {
  const run = new PromotionRun(input);
  const { forward, interventions } = run;
  let ending: Ending;
  try {
    ending = await forward.run(() => goForward(run));
  } catch (error) {
    interventions.enter(run.hasSubmitted ? 'restoring' : 'ended');
    ending = await CancellationScope.nonCancellable(() => restoreAfterPromotion(run, error));
  }
  interventions.enter('ended');
  return endWorkflow(await CancellationScope.nonCancellable(() => conclude(run, ending)));
}

async function goForward(run: PromotionRun): Promise<Ending> {
  const { request, journal, interventions } = run;
  const { from, bakeMs, approval } = request;

  // Before the soak: the proof is of this moment, and its keys are known at the issuer now.
  await interventions.proveRequester();
  const targets = await interventions.go(() => lookAtTargets(run));
  const choice = chooseCandidate(targets);
  if (choice.kind !== 'candidate') {
    const { kind, reason } = choice;
    if (kind === 'rejected') throw new PromotionEnded({ outcome: kind, reason });
    return { outcome: 'released', reason, nothingToDo: true };
  }
  const { candidate } = choice;
  run.candidate = candidate;
  run.before = targets.to;
  if (candidate.releasedBy !== null) interventions.noteMaker(candidate.releasedBy);
  else if (approval !== undefined && approval.required > 0)
    throw unknownMaker(from.name, candidate.revisionId);
  journal.note({ deploymentId: candidate.deploymentId, revisionId: candidate.revisionId });
  const { sizeBytes } = await interventions.go(() => findArtifact(run, candidate.artifact));

  if (request.soakMs > 0) {
    const until = Date.parse(candidate.verifiedAt) + request.soakMs;
    await interventions.goOrSkip(SOAK, () => watch(run, from, candidate, until, 'soak'));
  }
  if (request.judge !== undefined) await judgeCandidate(run, candidate, request.judge);
  await interventions.approval();
  await passFreezes(journal, request, interventions, 'promotion');
  let stands = false;
  while (!stands) stands = await interventions.go(() => confirmTargets(run));

  const released = await interventions.go(() => releaseOnTarget(run, sizeBytes));
  if (bakeMs > 0) await bake(run, released);
  await interventions.whilePaused();
  return { outcome: 'released', reason: released.reason };
}

/** Who made it may not approve it. */
function unknownMaker(target: string, revisionId: string): PromotionEnded {
  const why = 'because it is not known who released it: release it there again';
  const reason = `no one can approve revision ${revisionId} of "${target}", ${why}`;
  return new PromotionEnded({ outcome: 'rejected', reason });
}

/** Watches the release on `to`, without the checks that a person skipped in it. @throws as {@link watch}. */
async function bake(run: PromotionRun, { revisionId, skippedChecks }: HistoryRow): Promise<void> {
  const { to, bakeMs } = run.request;
  const seen = await lookAtTarget(run, 'to');
  const { servingRevisionId: serves, deploymentId, agentUrl } = seen;
  if (serves !== null && serves !== revisionId) throw superseded(seen, 'bake');
  if (revisionId === null || deploymentId === null || agentUrl === null)
    throw pipelineFailure('SLIPWAY_NOT_FOUND', `"${to.name}" has no deployment with an address any more`);
  await watch(run, to, { deploymentId, revisionId, agentUrl }, Date.now() + bakeMs, 'bake', skippedChecks);
}

/** Checks that the artifact still exists: before the soak, not a day later. */
function findArtifact(run: PromotionRun, artifact: string): Promise<{ readonly sizeBytes: number }> {
  return run.journal.step('candidate', artifact, async (activities) => {
    const { sizeBytes, attempt } = await activities.findArtifact({ store: run.request.store, artifact });
    const detail = artifact.startsWith('sha256:') ? `${sizeBytes} bytes` : 'not looked for in its registry';
    return { result: { sizeBytes }, attempt, detail };
  });
}

async function conclude(run: PromotionRun, ending: Ending): Promise<PromotionResult> {
  const { journal, request, candidate, notices } = run;
  const { outcome, reason, nothingToDo = false, code = null } = ending;
  journal.end(outcome, null);
  measure('slipway_promotions', 1, { outcome, target: request.to.name });
  upsertSearchAttributes([attribute('target', request.to.name), attribute('outcome', outcome)]);
  const result = (text: string): PromotionResult => ({
    promotion: request.name,
    from: request.from.name,
    to: request.to.name,
    outcome,
    reason: text,
    nothingToDo,
    code,
    artifact: candidate?.artifact ?? null,
    commit: candidate?.commit ?? null,
    candidateRevisionId: candidate?.revisionId ?? null,
    releaseId: run.releaseId,
    differences: request.differences,
    steps: journal.progress.steps,
    verdicts: journal.progress.verdicts,
    judgement: journal.progress.judgement ?? null,
    interventions: journal.progress.interventions,
    requestedBy: run.interventions.requestedBy,
    startedAt: journal.progress.startedAt,
    endedAt: now(),
  });
  const notice = promotionEndNotice(request, result(reason));
  if (notice !== undefined) notices.send(notice, request.release);
  try {
    const { runId } = workflowInfo();
    await journal.step('record', undefined, async (activities) => {
      const { location, attempt } = await activities.recordPromotion({
        store: request.store,
        result: result(reason),
        runId,
      });
      return { result: undefined, attempt, detail: location };
    });
    return result(reason);
  } catch (error) {
    return result(`${reason} (its record could not be written: ${explain(error).message})`);
  } finally {
    await notices.begun();
  }
}

/**
 * Watches the revision that serves on a target, until a moment.
 * @throws SLIPWAY_CHECK_FAILED; {@link PromotionEnded} if it no longer serves.
 */
async function watch(
  run: PromotionRun,
  target: TargetSpec,
  watched: Pick<Candidate, 'deploymentId' | 'revisionId' | 'agentUrl'>,
  until: number,
  step: 'soak' | 'bake',
  skipped: readonly string[] = [],
): Promise<void> {
  const { journal, request } = run;
  const { checksBudget: budget } = request.release;
  const checks = request.release.checks.filter(({ name }) => !skipped.includes(name));
  try {
    const { agentUrl, ...revision } = watched;
    const watch = { agentUrl, checks, until, everyMs: request.checkEveryMs, budget };
    await watchServing(journal, { target, ...revision }, watch, step);
  } catch (error) {
    const { code } = explain(error);
    const isGone = code === 'SLIPWAY_REVISION_REPLACED' || code === 'SLIPWAY_NOT_FOUND';
    if (!isGone) throw error;
    const seen = await lookAtTarget(run, step === 'soak' ? 'from' : 'to');
    const { servingRevisionId: serves } = seen;
    if (code === 'SLIPWAY_NOT_FOUND' && serves === watched.revisionId) throw error;
    // Nothing has replaced the promoted revision: the target restores an earlier one, or a person must.
    if (step === 'bake' && serves === null) throw error;
    throw superseded(seen, step);
  }
}

function superseded(seen: TargetSeen, step: 'soak' | 'bake'): PromotionEnded {
  return new PromotionEnded({
    outcome: 'superseded',
    reason: whySuperseded(seen, step === 'soak' ? 'the candidate' : 'the promoted one'),
    code: 'SLIPWAY_REVISION_REPLACED',
  });
}

/**
 * Undoes a promotion that failed or was stopped: asks the target to roll back the release, which puts the target on
 * hold and so stops further promotions to it.
 *
 * Run it in a non-cancellable scope.
 */
async function restoreAfterPromotion(run: PromotionRun, error: unknown): Promise<Ending> {
  const { stopReason } = run.interventions;
  const failure = explain(error);
  const why = stopReason ?? (failure.canceled ? 'the workflow was canceled' : failure.message);
  const stopped = stopReason !== null || failure.canceled;
  const code = stopped ? null : failure.code;
  try {
    const found = run.ended === null ? await withdraw(run, why) : null;
    if (error instanceof PromotionEnded) {
      if (found === null) return error.ending;
      // A run before a reset had submitted it.
      const reason = `${why}; ${describeRelease(run, found)}`;
      await holdIfBad(run, found, reason);
      return { ...error.ending, reason };
    }
    if (run.ended?.outcome === 'released')
      return await rollBack(run, run.ended.servingRevisionId, why, stopped, code);
    const reason = `${why}; ${describeEffect(run)}`;
    if (run.ended !== null && (await holdIfBad(run, run.ended, reason))) {
      return { outcome: run.ended.outcome, reason, code };
    }
    if (stopped) return { outcome: 'aborted', reason, code };
    return { outcome: isOutcomeUnknown(failure.code) ? 'errored' : 'failed', reason, code };
  } catch (problem) {
    const reason = `${why}; and the state of "${run.request.to.name}" is unknown: ${explain(problem).message}`;
    return { outcome: 'errored', reason, code: explain(problem).code };
  }
}

/** Describes what the promotion did to `to`, as the target reports it. */
function describeEffect(run: PromotionRun): string {
  return run.ended === null ? `"${run.request.to.name}" was not changed` : describeRelease(run, run.ended);
}

async function rollBack(
  run: PromotionRun,
  released: string | null,
  why: string,
  stopped: boolean,
  code: Ending['code'],
): Promise<Ending> {
  const { journal, request, before } = run;
  const { to, store: recordStore } = request;
  const requestId = uuid4();
  const message = {
    requestId,
    ...promotionActor(request, why),
    // A release that ran then was undone: otherwise it would have superseded this one.
    to: (before?.running == null ? before?.servingRevisionId : before.activeRevisionId) ?? undefined,
    serving: released ?? undefined,
  };
  const taken = await journal.step('promote', 'roll back', async (activities) => {
    const { answer, attempt } = await activities.rollBackTarget({ target: to, recordStore, message });
    return { result: answer, attempt, detail: `${answer.disposition}: ${answer.reason}` };
  });
  if (taken.disposition === 'ignored' || taken.disposition === 'done') {
    const outcome = taken.disposition === 'done' ? 'superseded' : 'errored';
    return { outcome, reason: `${why}; "${to.name}" did not roll back: ${taken.reason}`, code };
  }
  const row = await awaitRelease(run, taken.requestId);
  const reason = `${why}; ${row.reason}`;
  if (!isRollbackDone(row.kind, row.outcome)) {
    // The target ends the hold of a rollback that changed nothing.
    await holdIfBad(run, row, reason);
    return { outcome: 'rollback_failed', reason, code };
  }
  return { outcome: stopped ? 'aborted' : 'rolled_back', reason, code };
}

/**
 * One run of a schedule. Temporal gives each run its own id. The promotion's workflow id depends only on its name, so
 * that a schedule starts no second promotion beside one that a person started.
 * @returns how the promotion ended, in one line.
 * @throws ChildWorkflowFailure if the promotion needs a person: then the schedule also shows this run as failed.
 */
export async function promotionTurn(input: PromotionInput): Promise<string> {
  const { request, schedule } = input;
  const lateMs = Date.now() - workflowInfo().startTime.getTime();
  if (schedule !== undefined && lateMs > schedule.catchUpMs)
    return `missed: no worker ran for ${formatDuration(lateMs)}`;
  try {
    const { outcome, reason } = await executeChild(promotion, {
      workflowId: promotionWorkflowId(request),
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
      args: [input],
      // Terminating a run does not end its promotion. Canceling one cancels its promotion too, which restores.
      parentClosePolicy: ParentClosePolicy.ABANDON,
      staticSummary: shortSummary(`promotion ${request.name}: ${request.from.name} to ${request.to.name}`),
    });
    return `${outcome}: ${reason}`;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return 'a promotion of this name was already running';
  }
}
