import { HandlerUnfinishedPolicy } from '@temporalio/common';
import { CancellationScope, CancelledFailure, setHandler } from '@temporalio/workflow';

import { artifactIdentity, describeArtifact } from '../../domain/artifact/artifact.ts';
import type { Check } from '../../domain/check/check.ts';
import type { DeploymentSnapshot } from '../../domain/deployment/revision.ts';
import { SOAK } from '../../domain/intervention/intervention.ts';
import { waitingNotice } from '../../domain/notify/noticeContent.ts';
import type { ReleaseRequest, ReleaseResult, Waiting } from '../../domain/release/release.ts';
import { preemptSignal } from '../../messages/release.ts';
import type { ReleaseInput } from '../../messages/workflowTypes.ts';
import { Asked, bringUp, runCheck } from '../check/bringUp.ts';
import { type Watch, watchServing } from '../check/watchServing.ts';
import { claimDeployment } from '../deployment/deployment.ts';
import { endWorkflow, explain } from '../failure.ts';
import { passFreezes } from '../freeze/passFreezes.ts';
import { now } from '../journal.ts';
import { Notices } from '../notify/notices.ts';
import { recordBaseline } from './baseline.ts';
import { preempt } from './preempted.ts';
import { restoreAfterSetback, restoreWhatServed } from './restoreAfterSetback.ts';
import { findExtraRevisions, finish, Run, type Setback } from './run.ts';
import { findDeployment, findOrCreateDeployment, patch, upload } from './ship.ts';

/**
 * One release: puts one artifact on one target, and restores what served if anything fails.
 *
 * Going forward runs in a scope of its own, which a rollback or a cancellation ends at once. What undoes a step is noted
 * before the step begins, and runs to its end whatever happens.
 */
export async function release(input: ReleaseInput): Promise<ReleaseResult> {
  const run = new Run(input, (waiting) => notifyWaiting(input, waiting));
  const { forward, interventions } = run;
  setHandler(preemptSignal, (message) => preempt(run, message), {
    unfinishedPolicy: HandlerUnfinishedPolicy.ABANDON,
  });
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

/** The way of a release, forward. */
async function goForward(run: Run): Promise<void> {
  const { journal, request, interventions } = run;

  const deploysAtOnce = await deploysWhenCreated(run);
  if (deploysAtOnce) await passApprovalAndFreezes(run);
  const { deployment, created } = await interventions.go(() => findOrCreateDeployment(run));
  const { deploymentId } = deployment;
  await interventions.go(() => claimDeployment(journal, request.target, deploymentId, run.input.owns));
  run.deploymentId = deploymentId;

  const noteBaseline = async (): Promise<void> => {
    run.baseline = await recordBaseline(run, deployment, created);
    journal.note({ baseline: run.baseline });
  };
  const shipArtifact = async (): Promise<void> => {
    run.objectPath = await interventions.go(() => upload(run, deploymentId));
  };
  await interventions.passage();
  if (isHeldBack(request)) {
    await noteBaseline();
    if (!deploysAtOnce) await passApprovalAndFreezes(run);
    await shipArtifact();
  } else {
    await beside(noteBaseline, shipArtifact);
  }

  const revisionId = await interventions.go(() => changeDeployment(run, deployment));

  const subject = { target: request.target, deploymentId, revisionId };
  const agentUrl = await interventions.go(() => bringUp(journal, subject));
  run.agentUrl = agentUrl;
  const asked = new Asked(subject, agentUrl);
  run.asked = asked;
  for (const check of request.checks) {
    await interventions.goOrSkip(check.name, () => runCheck(journal, asked, check));
  }
  const checks = request.checks.filter(({ name }) => !interventions.skippedChecks.includes(name));
  if (request.soakMs > 0) {
    await interventions.goOrSkip(SOAK, () =>
      watchServing(journal, subject, soakOf(request.soakMs, agentUrl, checks), 'soak', asked),
    );
  }
  await interventions.passage();

  recordPassed(run, revisionId, checks);
}

/** Does two things at once. If one fails, the other is canceled, and has ended when this throws. */
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

/** Whether people must approve, or freezes may be in force, before anything is changed. */
function isHeldBack({ approval, freezes = [] }: ReleaseRequest): boolean {
  return (approval?.required ?? 0) > 0 || freezes.length > 0;
}

/** Waits for those who must approve, and for freezes to end. */
async function passApprovalAndFreezes({ journal, request, interventions }: Run): Promise<void> {
  await interventions.approval();
  await passFreezes(journal, request, interventions);
}

/**
 * Whether creating the target's deployment would put something there before anybody approved it: one of an image or a
 * git ref is deployed at once, one of a tarball stays empty until it is uploaded.
 */
async function deploysWhenCreated({ journal, request, interventions }: Run): Promise<boolean> {
  const { target, artifact } = request;
  if (artifact.kind === 'tarball' || !isHeldBack(request)) return false;
  return (await interventions.go(() => findDeployment(journal, target))) === null;
}

/**
 * The one step that changes what serves, and so the one that has to be undone: a deployment that was created stays, and
 * an upload that no revision carries serves nothing. What undoes it is noted before the PATCH is sent, and dropped only
 * if every attempt was surely not taken. Retried after an unknown answer, it looks before it sends.
 */
async function changeDeployment(run: Run, deployment: DeploymentSnapshot): Promise<string> {
  // A release that was asked to stop while the step before ended does not begin this one.
  if (run.stopped()) throw new CancelledFailure('stopped before the PATCH');
  const sentBefore = run.undoPatch !== null;
  run.undoPatch = (setback) => restoreWhatServed(run, deployment.deploymentId, setback);
  try {
    const before = { deployment, known: run.input.known };
    const { revisionId, ambiguous } = await patch(run, before, run.objectPath, sentBefore);
    run.revisionId = revisionId;
    run.ambiguous = ambiguous;
    return revisionId;
  } catch (error) {
    if (!sentBefore && !explain(error).mayHaveBeenTaken) run.undoPatch = null;
    throw error;
  }
}

/** Records that the release's own revision passed its checks, but for those that a person left out. */
function recordPassed(run: Run, revisionId: string, checks: readonly Check[]): void {
  const { input, request } = run;
  const skipped = checks.length < request.checks.length;
  run.passed.push({ revisionId, checks });
  run.knownRevisions.push({
    revisionId,
    verified: !skipped,
    skipped: skipped || undefined,
    artifact: artifactIdentity(request.artifact),
    release: input.releaseId,
    commit: request.commit,
    at: now(),
  });
}

function soakOf(soakMs: number, agentUrl: string, checks: readonly Check[]): Watch {
  return { agentUrl, checks, until: Date.now() + soakMs, everyMs: soakPauseMs(soakMs) };
}

/** Notifies that a person is awaited. The target sends the other notices of its releases. */
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
  const checks =
    skippedChecks.length === 0
      ? 'passed its checks'
      : `passed its checks but for ${skippedChecks.join(', ')}, left out by a person`;
  return finish(run, {
    outcome: 'released',
    reason: `revision ${run.revisionId ?? ''} is deployed, serves, and ${checks}${extras}`,
    servingRevisionId: run.revisionId,
    servingVerified: skippedChecks.length === 0,
    extraRevisionIds,
    // One that comes up later takes the place of the one that was checked.
    givenUpRevisionIds: extraRevisionIds,
    settingsWorked: true,
  });
}

const ROUNDS = 10;
const SHORTEST_PAUSE_MS = 10_000;

/** How long a release that soaks waits between two rounds of its checks, in milliseconds. */
function soakPauseMs(soakMs: number): number {
  return Math.max(soakMs / ROUNDS, SHORTEST_PAUSE_MS);
}
