import { HandlerUnfinishedPolicy } from '@temporalio/common';
import { CancellationScope, CancelledFailure, setHandler } from '@temporalio/workflow';

import type { RevisionInput } from '../../activities/activities.ts';
import { artifactIdentity, describeArtifact, shortArtifact } from '../../domain/artifact/artifact.ts';
import type { Check } from '../../domain/check/check.ts';
import { datasetDigests } from '../../domain/check/dataset.ts';
import type { DeploymentSnapshot } from '../../domain/deployment/revision.ts';
import { isOutcomeUnknown } from '../../domain/failure.ts';
import { SOAK } from '../../domain/intervention/intervention.ts';
import { waitingNotice } from '../../domain/notify/noticeContent.ts';
import type { ReleaseRequest, ReleaseResult, Waiting } from '../../domain/release/release.ts';
import { preemptSignal } from '../../messages/release.ts';
import type { ReleaseInput } from '../../messages/workflowTypes.ts';
import { CheckedRevision, runCheck } from '../check/runCheck.ts';
import { type Watch, watchServing } from '../check/watchServing.ts';
import { bringUp } from '../deployment/bringUp.ts';
import { claimDeployment } from '../deployment/deployment.ts';
import { endWorkflow, explain } from '../failure.ts';
import { passFreezes } from '../freeze/passFreezes.ts';
import { now } from '../journal.ts';
import { Notices } from '../notify/notices.ts';
import { activitiesOf } from '../steps.ts';
import { recordBaseline } from './baseline.ts';
import { handleQuarantined, preempt, reportChanging, reportWaitingAgain } from './preempted.ts';
import { restoreAfterSetback, restoreWhatServed } from './restoreAfterSetback.ts';
import { finish, Run, type Setback } from './run.ts';
import { findDeployment, findExtraRevisions, findOrCreateDeployment, patch, upload } from './ship.ts';

/**
 * One release: deploys one artifact to one target, and restores the previous revision if anything fails.
 *
 * The forward steps run in their own cancellation scope, which a rollback or a cancellation cancels at once. The
 * compensation of a step is registered before the step begins. It runs to its end in a non-cancellable scope.
 */
export async function release(input: ReleaseInput): Promise<ReleaseResult> {
  const run = new Run(input, (waiting) => notifyWaiting(input, waiting));
  const { forward, interventions } = run;
  setHandler(preemptSignal, (message) => preempt(run, message), {
    unfinishedPolicy: HandlerUnfinishedPolicy.ABANDON,
  });
  handleQuarantined(run.journal, (revisionIds) => (run.quarantined = revisionIds));
  let setback: Setback | null = null;
  try {
    await forward.run(() => goForward(run));
  } catch (error) {
    const { stopReason } = interventions;
    const { preemptedBy } = run;
    setback = { failure: explain(error), stopped: run.stopped(), stopReason, preemptedBy };
  }
  interventions.enter(setback === null ? 'ended' : 'restoring');
  const result = await CancellationScope.nonCancellable(() =>
    setback === null ? concludeReleased(run) : restoreAfterSetback(run, setback),
  );
  return endWorkflow(result);
}

async function goForward(run: Run): Promise<void> {
  const { request, interventions } = run;

  await verifyDatasets(run);
  const deploysAtOnce = await deploysWhenCreated(run);
  if (deploysAtOnce) await passApprovalAndFreezes(run);
  const { deployment, created } = await whileUnfrozen(run, () => findOrCreateDeployment(run));
  const { deploymentId } = deployment;
  await interventions.go(() => claimDeployment(run.journal, request.target, deploymentId, run.input.owns));
  run.deploymentId = deploymentId;

  const noteBaseline = () => recordBaseline(run, deployment, created);
  const shipArtifact = () => interventions.go(() => upload(run, deploymentId));
  await interventions.whilePaused();
  if (isHeldBack(request)) {
    await noteBaseline();
    if (!deploysAtOnce) await passApprovalAndFreezes(run);
    await shipArtifact();
  } else {
    await beside(noteBaseline, shipArtifact);
  }

  const revisionId = await whileUnfrozen(run, () => changeDeployment(run, deployment, created));

  const passed = await verifyRevision(run, { target: request.target, deploymentId, revisionId });
  await interventions.whilePaused();
  recordPassed(run, revisionId, passed);
}

/** Waits until the release's revision serves, runs its checks, and watches it. @returns the checks that it passed. */
async function verifyRevision(run: Run, revision: RevisionInput): Promise<readonly Check[]> {
  const { journal, request, interventions } = run;
  const { agentUrl } = await interventions.go(() => bringUp(journal, revision));
  run.agentUrl = agentUrl;
  const baseline = run.known.find((known) => known.revisionId === run.baseline?.revisionId);
  const checked = new CheckedRevision(revision, agentUrl, request.checksBudget, baseline?.answersWithinMs);
  run.checked = checked;
  for (const check of request.checks) {
    await interventions.goOrSkip(check.name, () => runCheck(journal, checked, check));
  }
  const passed = request.checks.filter(({ name }) => !interventions.skippedChecks.includes(name));
  if (request.soakMs > 0) {
    // A retry continues the soak.
    let soak: Watch | undefined;
    await interventions.goOrSkip(SOAK, () =>
      watchServing(journal, revision, (soak ??= soakOf(request, agentUrl, passed)), 'soak', checked),
    );
  }
  return passed;
}

/** Verifies before anything changes that the store has the datasets of the checks. Without any, it does nothing. */
async function verifyDatasets({ journal, request, interventions }: Run): Promise<void> {
  const digests = datasetDigests(request.checks);
  if (digests.length === 0) return;
  await interventions.go(() =>
    journal.step('find', 'datasets', async (activities) => {
      const { attempt } = await activities.findDatasets({ store: journal.store, digests });
      return { result: undefined, attempt, detail: digests.map(shortArtifact).join(', ') };
    }),
  );
}

/** Runs two tasks concurrently. If one fails, cancels the other and waits for it to end before throwing. */
function beside(one: () => Promise<void>, other: () => Promise<void>): Promise<void> {
  const scope = new CancellationScope();
  return scope.run(async () => {
    const both = [one(), other()];
    try {
      await Promise.all(both);
    } catch (error) {
      scope.cancel();
      await Promise.allSettled(both);
      throw error;
    }
  });
}

/** Whether an approval or a freeze can delay the release before it changes anything. */
function isHeldBack({ approval, freezes = [] }: ReleaseRequest): boolean {
  return (approval?.required ?? 0) > 0 || freezes.length > 0;
}

async function passApprovalAndFreezes(run: Run): Promise<void> {
  await run.interventions.approval();
  run.nextFreezeAt = 0;
  await passBegunFreezes(run);
}

/** Passes the freezes that have begun since the last look: the release may have been paused, or no worker ran. */
async function passBegunFreezes(run: Run): Promise<void> {
  const { journal, request, interventions } = run;
  await interventions.whilePaused();
  while (Date.now() >= run.nextFreezeAt) {
    run.nextFreezeAt = await passFreezes(journal, request, interventions);
    await interventions.whilePaused();
  }
}

/** Runs a part that changes the deployment while no freeze holds. One that begins before it is taken is passed, too. */
async function whileUnfrozen<T>(run: Run, change: () => Promise<T>): Promise<T> {
  for (;;) {
    await passBegunFreezes(run);
    try {
      return await run.interventions.go(change);
    } catch (error) {
      if (explain(error).code !== 'SLIPWAY_TARGET_FROZEN') throw error;
    }
  }
}

/** Whether creating the deployment would deploy the artifact before its approval: an image or a git ref. */
async function deploysWhenCreated({ journal, request, interventions }: Run): Promise<boolean> {
  const { target, artifact } = request;
  if (artifact.kind === 'tarball' || !isHeldBack(request)) return false;
  return (await interventions.go(() => findDeployment(journal, target))) === null;
}

/**
 * Sends the PATCH: the only step that changes what serves, and the only one to compensate. A deployment that was
 * created stays, and an upload that no revision carries serves nothing. The compensation is registered before the
 * PATCH is sent. It is dropped only if the control plane certainly applied no attempt. A retry after an unknown
 * answer reads before it sends.
 */
async function changeDeployment(run: Run, deployment: DeploymentSnapshot, created: boolean): Promise<string> {
  // A stop request may have arrived while the previous step ended: do not begin this one.
  if (run.stopped()) throw new CancelledFailure('stopped before the PATCH');
  const sentBefore = run.undoPatch !== null;
  if (!sentBefore) run.latestBefore = await readLatest(run, deployment, created);
  await reportChanging(run);
  run.undoPatch = (setback) => restoreWhatServed(run, deployment.deploymentId, setback);
  try {
    const seen = { ...deployment, latestRevisionId: run.latestBefore };
    const before = { deployment: seen, created, known: run.knownBefore };
    const revisionId = await patch(run, before, sentBefore);
    run.revisionId = revisionId;
    return revisionId;
  } catch (error) {
    const { code, mayHaveBeenTaken } = explain(error);
    if (!sentBefore && !mayHaveBeenTaken) run.undoPatch = null;
    const asks = run.request.onError?.then === 'wait' && isOutcomeUnknown(code);
    if ((asks || code === 'SLIPWAY_TARGET_FROZEN') && !run.stopped()) await reportWaitingAgain(run);
    throw error;
  }
}

/**
 * The latest revision before the PATCH. While the release waited for an approval or a freeze, another client may have sent
 * the same image or git ref, and only its place in the list shows that the PATCH did not make that revision.
 */
async function readLatest(
  { journal, request }: Run,
  deployment: DeploymentSnapshot,
  created: boolean,
): Promise<string | null> {
  const { deploymentId, latestRevisionId } = deployment;
  // A read of a new deployment may not show its first revision yet.
  if (created || request.artifact.kind === 'tarball' || !isHeldBack(request)) return latestRevisionId;
  const reads = activitiesOf('find', journal.overrides, 'read the latest revision');
  const read = await reads.readDeployment({ target: request.target, deploymentId });
  return read.deployment.latestRevisionId;
}

/** Records that the release's own revision passed its checks, except those that a person skipped. */
function recordPassed(run: Run, revisionId: string, checks: readonly Check[]): void {
  const { input, request, journal } = run;
  const skipped = checks.length < request.checks.length;
  run.passed.push({ revisionId, checks });
  run.knownRevisions.push({
    revisionId,
    verified: !skipped,
    answersWithinMs: journal.answersWithinMs(revisionId),
    skipped: skipped || undefined,
    artifact: artifactIdentity(request.artifact),
    release: input.releaseId,
    commit: request.commit,
    replaced: run.baseline?.revisionId ?? undefined,
    upload: run.objectPath ?? undefined,
    at: now(),
  });
}

function soakOf(
  { soakMs, checksBudget: budget }: ReleaseRequest,
  agentUrl: string,
  checks: readonly Check[],
): Watch {
  return { agentUrl, checks, budget, until: Date.now() + soakMs, everyMs: soakPauseMs(soakMs) };
}

/** Notifies that the release waits for a person. The target sends the other notices of its releases. */
function notifyWaiting({ releaseId, request }: ReleaseInput, waiting: Waiting): void {
  const { target, artifact, commit = null, requestedBy } = request;
  const waiter = { kind: 'release', name: releaseId, target, commit, requestedBy } as const;
  const content = waitingNotice({ ...waiter, artifact: describeArtifact(artifact) }, waiting);
  new Notices().send(content, request);
}

async function concludeReleased(run: Run): Promise<ReleaseResult> {
  const extraRevisionIds = await findExtraRevisions(run);
  const extras = extraRevisionIds.length === 0 ? '' : `; extra revisions: ${extraRevisionIds.join(', ')}`;
  const { skippedChecks } = run.interventions;
  const skipped =
    skippedChecks.length === 0 ? '' : ` but for ${skippedChecks.join(', ')}, left out by a person`;
  const checks = run.request.checks.length === 0 ? 'has no checks' : `passed its checks${skipped}`;
  return finish(run, {
    outcome: 'released',
    reason: `revision ${run.revisionId ?? ''} is deployed, serves, and ${checks}${extras}`,
    servingRevisionId: run.revisionId,
    servingVerified: skippedChecks.length === 0,
    extraRevisionIds,
    // An extra revision that becomes active later would replace the checked one, so the target watches it.
    givenUpRevisionIds: extraRevisionIds,
    settingsWorked: true,
  });
}

const ROUNDS = 10;
const SHORTEST_PAUSE_MS = 10_000;

/** The pause between two rounds of checks during the soak, in milliseconds. */
function soakPauseMs(soakMs: number): number {
  return Math.max(soakMs / ROUNDS, SHORTEST_PAUSE_MS);
}
