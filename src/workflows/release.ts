import { HandlerUnfinishedPolicy } from '@temporalio/common';
import { CancellationScope, CancelledFailure, setHandler } from '@temporalio/workflow';

import { artifactIdentity, describeArtifact } from '../domain/artifact.ts';
import { baselineInstead } from '../domain/lateRevisions.ts';
import type { Check } from '../domain/check.ts';
import { SOAK } from '../domain/intervention.ts';
import { waitingNotice } from '../domain/notify/waitingNotice.ts';
import type { Baseline, ReleaseResult, RollbackRequest, Waiting } from '../domain/release.ts';
import type { DeploymentSnapshot } from '../domain/revision.ts';
import { soakPauseMs } from '../domain/soak.ts';
import { reachSameAgent } from '../domain/targetSpec.ts';
import { preemptSignal, readPreemption } from '../messages/release.ts';
import type { ReleaseInput } from '../messages/workflowTypes.ts';
import { Asked, bringUp, runCheck, runChecks } from './bringUp.ts';
import { claimDeployment } from './deployment.ts';
import { endWorkflow, explain, type StepFailure } from './failure.ts';
import { passFreezes } from './passFreezes.ts';
import { Interventions } from './interventions.ts';
import { Journal, now } from './journal.ts';
import { Notices } from './notices.ts';
import { hasToMakeWay } from './preempted.ts';
import { finish, lookForExtras, type Run } from './run.ts';
import { findDeployment, findOrCreateDeployment, patch, type Shipment, upload } from './ship.ts';
import { activitiesOf } from './steps.ts';
import { takeBack } from './takeBack.ts';
import { type Watch, watchServing } from './watchServing.ts';

/**
 * One release: puts one artifact on one target, and takes it back when anything fails.
 *
 * Going forward runs in a scope of its own, which a rollback or a cancellation ends at once; what undoes it is
 * decided before the step that it undoes and runs to its end whatever happens.
 */
export async function release(input: ReleaseInput): Promise<ReleaseResult> {
  const journal = new Journal(input.releaseId, 'release', input.request.steps, input.request.recordStore);
  const forward = new CancellationScope();
  const interventions = new Interventions(journal, input.request, forward, (waiting) =>
    tellWaiting(input, waiting),
  );
  let preemptedBy: RollbackRequest | null = null;
  const left: string[] = [];
  let goingForward = true;
  const run: Run = {
    input,
    shipment: { journal, request: input.request, stopped: () => forward.consideredCancelled },
    interventions,
    deploymentId: null,
    baseline: null,
    objectPath: null,
    mayHaveChanged: false,
    ambiguous: false,
    revisionId: null,
    agentUrl: null,
    knownRevisions: [],
    passed: [],
    foundBefore: [],
    asked: null,
    left,
  };
  setHandler(
    preemptSignal,
    async (message) => {
      const preemption = readPreemption(message);
      if (typeof preemption === 'string') {
        interventions.ignorePreemption(preemption);
        return;
      }
      const { goesOn, overtaker, ...rollback } = preemption;
      if (rollback.from !== undefined) left.push(rollback.from);
      if (goesOn === true) return;
      if (!goingForward) {
        interventions.ignorePreemption('the release does not go forward any more');
        return;
      }
      if (overtaker !== undefined && !(await hasToMakeWay(run, overtaker, () => goingForward))) return;
      preemptedBy ??= rollback;
      forward.cancel();
    },
    { unfinishedPolicy: HandlerUnfinishedPolicy.ABANDON },
  );

  let failure: StepFailure | null = null;
  try {
    await forward.run(() => goForward(run));
  } catch (error) {
    failure = explain(error);
  }
  goingForward = false;
  interventions.enter(failure === null ? 'ended' : 'restoring');
  const stopped = forward.consideredCancelled;
  const result = await CancellationScope.nonCancellable(() =>
    failure === null
      ? concludeReleased(run)
      : takeBack(run, { failure, stopped, stopReason: interventions.stopReason, preemptedBy }),
  );
  return endWorkflow(result);
}

/** The way of a release, forward. */
async function goForward(run: Run): Promise<void> {
  const { shipment, interventions } = run;
  const { journal, request } = shipment;

  const deploysAtOnce = await deploysWhenCreated(run);
  if (deploysAtOnce) await passApprovalAndFreezes(run);
  const { deployment, created } = await interventions.go(() => findOrCreateDeployment(shipment));
  const { deploymentId } = deployment;
  await interventions.go(() => claimDeployment(journal, request.target, deploymentId, run.input.owns));
  run.deploymentId = deploymentId;

  run.baseline = await interventions.go(() => recordBaseline(run, deployment, created));
  journal.note({ baseline: run.baseline });

  if (!deploysAtOnce) await passApprovalAndFreezes(run);
  run.objectPath = await interventions.go(() => upload(shipment, deployment.deploymentId));

  const revisionId = await interventions.go(() => changeDeployment(run, deployment));

  const subject = { target: request.target, deploymentId: deployment.deploymentId, revisionId };
  const agentUrl = await interventions.go(() => bringUp(journal, subject));
  run.agentUrl = agentUrl;
  const asked = new Asked(subject, agentUrl);
  run.asked = asked;
  for (const check of request.checks) {
    await interventions.goOrSkip(check.name, () => runCheck(journal, asked, check));
  }
  const left = request.checks.filter(({ name }) => !interventions.skippedChecks.includes(name));
  if (request.soakMs > 0) {
    await interventions.goOrSkip(SOAK, () =>
      watchServing(journal, subject, soakOf(request.soakMs, agentUrl, left), 'soak', asked),
    );
  }
  await interventions.passage();

  const skipped = interventions.skippedChecks.length > 0;
  run.passed.push({ revisionId, checks: left });
  run.knownRevisions.push({
    revisionId,
    verified: !skipped,
    ...(skipped ? { skipped } : {}),
    artifact: artifactIdentity(request.artifact),
    release: run.input.releaseId,
    ...(request.commit === undefined ? {} : { commit: request.commit }),
    at: now(),
  });
}

/** Waits for those who must approve, and for freezes to end. */
async function passApprovalAndFreezes({ shipment, interventions }: Run): Promise<void> {
  await interventions.approval();
  await passFreezes(shipment.journal, shipment.request, interventions);
}

/**
 * Whether creating the target's deployment would put something there before anybody approved it: one of an image or a
 * git ref is deployed at once, one of a tarball stays empty until it is uploaded.
 */
async function deploysWhenCreated({ shipment, interventions }: Run): Promise<boolean> {
  const { artifact, approval, freezes = [] } = shipment.request;
  const waits = (approval?.required ?? 0) > 0 || freezes.length > 0;
  if (artifact.kind === 'tarball' || !waits) return false;
  return (await interventions.go(() => findDeployment(shipment))) === null;
}

/**
 * Records what serves before anything is changed. A revision that the target does not know, on a deployment made
 * elsewhere, is checked once, to know whether it is worth returning to.
 */
async function recordBaseline(
  { input, shipment, knownRevisions, passed, foundBefore }: Run,
  deployment: DeploymentSnapshot,
  created: boolean,
): Promise<Baseline> {
  const revisionId = deployment.activeRevisionId;
  // The revision that creating a deployment yields carries nothing of ours and nothing of anybody else's.
  if (created || revisionId === null) return { revisionId: null, verified: false };
  const isVerified = (id: string): boolean =>
    input.known.some((revision) => revision.revisionId === id && revision.verified);
  const instead = baselineInstead(input.late, deployment);
  if (instead !== undefined) return { revisionId: instead, verified: isVerified(instead) };
  const known = input.known.find((revision) => revision.revisionId === revisionId);
  const { journal, request } = shipment;
  const { target, checks } = request;
  const agentUrl = target.agentUrl ?? deployment.agentUrl;
  let silent: string | null = null;
  if (known !== undefined) {
    const proven = input.lastGood !== null && reachSameAgent(input.lastGood, target);
    if (agentUrl !== null && !proven) silent = await whySilent(shipment, agentUrl);
    if (silent !== null) foundBefore.push({ failedCheck: null, silent: true });
    return { revisionId, verified: known.verified, ...(silent === null ? {} : { silent }) };
  }
  let verified = false;
  if (agentUrl !== null) {
    const asked = new Asked({ target, deploymentId: deployment.deploymentId, revisionId }, agentUrl);
    try {
      await runChecks(journal, asked, checks, 'baseline');
      verified = true;
      passed.push({ revisionId, checks });
    } catch (error) {
      // A baseline that fails its checks, or cannot be asked, is noted as unverified; the release goes on.
      const { canceled, message } = explain(error);
      if (canceled) throw error;
      if (asked.finding !== null) foundBefore.push(asked.finding);
      if (asked.finding?.silent === true) silent = message;
    }
  }
  knownRevisions.push({ revisionId, verified, at: now() });
  return { revisionId, verified, ...(silent === null ? {} : { silent }) };
}

/** One try is enough, and a short one: an agent that does not answer stops no release. */
const ASK_ONCE = { startToCloseMs: 5_000, scheduleToCloseMs: 10_000, retry: { maximumAttempts: 1 } };

/** Why what serves does not answer under settings that have never worked; `null`: it does, or that is unknown. */
async function whySilent({ journal, request }: Shipment, agentUrl: string): Promise<string | null> {
  const { target } = request;
  try {
    const overrides = { ...journal.overrides, find: ASK_ONCE };
    const activities = activitiesOf('find', overrides, 'try the settings on what serves');
    return (await activities.askAgent({ target, agentUrl })).silent;
  } catch (error) {
    if (explain(error).canceled) throw error;
    return null;
  }
}

/**
 * The one step that changes the target. What undoes it stands before it is sent, and falls away only where every
 * attempt was surely not taken. Taken up again after an unknown answer, it looks before it sends.
 */
async function changeDeployment(run: Run, deployment: DeploymentSnapshot): Promise<string> {
  // Told to stop in the very moment in which the step before ended: then it is not even begun.
  if (run.shipment.stopped()) throw new CancelledFailure('stopped before the PATCH');
  const sentBefore = run.mayHaveChanged;
  run.mayHaveChanged = true;
  try {
    const before = { deployment, known: run.input.known };
    const { revisionId, ambiguous } = await patch(run.shipment, before, run.objectPath, sentBefore);
    run.revisionId = revisionId;
    run.ambiguous = ambiguous;
    return revisionId;
  } catch (error) {
    run.mayHaveChanged = sentBefore || explain(error).mayHaveBeenTaken;
    throw error;
  }
}

function soakOf(soakMs: number, agentUrl: string, checks: readonly Check[]): Watch {
  return { agentUrl, checks, until: Date.now() + soakMs, everyMs: soakPauseMs(soakMs) };
}

/** What else is told of a release, its target tells. */
function tellWaiting({ releaseId, request }: ReleaseInput, waiting: Waiting): void {
  const { target, artifact, commit = null, requestedBy } = request;
  const waiter = { kind: 'release', name: releaseId, target, commit, requestedBy } as const;
  const content = waitingNotice({ ...waiter, artifact: describeArtifact(artifact) }, waiting);
  new Notices().tell(content, request);
}

async function concludeReleased(run: Run): Promise<ReleaseResult> {
  const extraRevisionIds = await lookForExtras(run);
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
