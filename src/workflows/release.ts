import { CancellationScope, setHandler, sleep } from '@temporalio/workflow';

import { artifactIdentity, describeArtifact } from '../domain/artifact.ts';
import { restoreInstructions } from '../domain/instructions.ts';
import {
  type Baseline,
  type KnownRevision,
  type Outcome,
  type ReleaseResult,
  type RollbackRequest,
} from '../domain/release.ts';
import { type DeploymentSnapshot } from '../domain/revision.ts';
import { bringUp, runChecks } from './bringUp.ts';
import { conclude } from './conclude.ts';
import { explain, type StepFailure } from './failure.ts';
import { Journal, now } from './journal.ts';
import { preemptSignal, type ReleaseInput } from './messages.ts';
import { restore, type Restored } from './restore.ts';
import { findExtraRevisions, findOrCreateDeployment, patch, type Shipment, upload } from './ship.ts';
import { activitiesOf } from './steps.ts';

/** What a release has found out and done so far. */
interface Run {
  deploymentId: string | null;
  baseline: Baseline | null;
  objectPath: string | null;
  /** Set before the PATCH is sent: from then on a failure puts the baseline back. */
  mayHaveChanged: boolean;
  /** A PATCH went unanswered on the way. */
  ambiguous: boolean;
  revisionId: string | null;
  agentUrl: string | null;
  knownRevisions: KnownRevision[];
}

/**
 * One release: puts one artifact on one target, and takes it back when anything fails.
 *
 * Going forward runs in a scope of its own, which a rollback or a cancellation ends at once; what undoes it is
 * decided before the step that it undoes and runs to its end whatever happens.
 */
export async function release(input: ReleaseInput): Promise<ReleaseResult> {
  const { releaseId, request } = input;
  const journal = new Journal(releaseId, 'release', request.steps);
  const forward = new CancellationScope();
  let preemptedBy: RollbackRequest | null = null;
  let goingForward = true;
  setHandler(preemptSignal, (rollback) => {
    if (!goingForward) return;
    preemptedBy ??= rollback;
    forward.cancel();
  });

  const run: Run = {
    deploymentId: null,
    baseline: null,
    objectPath: null,
    mayHaveChanged: false,
    ambiguous: false,
    revisionId: null,
    agentUrl: null,
    knownRevisions: [],
  };
  const shipment: Shipment = { journal, request, stopped: () => forward.consideredCancelled };
  let failure: StepFailure | null = null;
  try {
    await forward.run(() => goForward(input, shipment, run));
  } catch (error) {
    failure = explain(error);
  }
  goingForward = false;
  return CancellationScope.nonCancellable(() =>
    failure === null ? concludeReleased(shipment, run) : takeBack(input, shipment, run, failure, preemptedBy),
  );
}

/** The way of a release, forward. */
async function goForward(input: ReleaseInput, shipment: Shipment, run: Run): Promise<void> {
  const { journal, request } = shipment;

  const { deployment, created } = await findOrCreateDeployment(shipment);
  run.deploymentId = deployment.deploymentId;

  run.baseline = await recordBaseline(input, shipment, deployment, created, run);
  journal.note({ baseline: run.baseline });

  run.objectPath = await upload(shipment, deployment.deploymentId);

  run.mayHaveChanged = true;
  const { revisionId, ambiguous } = await patch(shipment, deployment, run.objectPath);
  run.revisionId = revisionId;
  run.ambiguous = ambiguous;

  const subject = { target: request.target, deploymentId: deployment.deploymentId, revisionId };
  run.agentUrl = await bringUp(journal, subject);
  await runChecks(journal, subject, run.agentUrl, request.checks);
  await soak(
    shipment,
    async (agentUrl) => runChecks(journal, subject, agentUrl, request.checks, 'soak'),
    run.agentUrl,
  );

  run.knownRevisions.push({
    revisionId,
    verified: true,
    artifact: artifactIdentity(request.artifact),
    at: now(),
  });
}

/**
 * Records what serves before anything is changed. A revision that the target does not know, on a deployment made
 * elsewhere, is checked once, to know whether it is worth returning to.
 */
async function recordBaseline(
  input: ReleaseInput,
  shipment: Shipment,
  deployment: DeploymentSnapshot,
  created: boolean,
  run: Run,
): Promise<Baseline> {
  const revisionId = deployment.activeRevisionId;
  // The revision that creating a deployment yields carries nothing of ours and nothing of anybody else's.
  if (created || revisionId === null) return { revisionId: null, verified: false };
  const known = input.known.find((revision) => revision.revisionId === revisionId);
  if (known !== undefined) return { revisionId, verified: known.verified };

  const { journal, request } = shipment;
  const subject = { target: request.target, deploymentId: deployment.deploymentId, revisionId };
  const agentUrl = request.target.agentUrl ?? deployment.agentUrl;
  let verified = false;
  if (agentUrl !== null) {
    try {
      await runChecks(journal, subject, agentUrl, request.checks, 'baseline');
      verified = true;
    } catch (error) {
      // A baseline that fails its checks, or cannot be asked, is noted as unverified; the release goes on.
      if (explain(error).canceled) throw error;
    }
  }
  run.knownRevisions.push({ revisionId, verified, at: now() });
  return { revisionId, verified };
}

const SOAK_ROUNDS = 10;
const SOAK_SHORTEST_PAUSE_MS = 10_000;

/** Lets the soak time pass, with the checks repeated during it. */
async function soak(
  { request: { soakMs } }: Shipment,
  check: (agentUrl: string) => Promise<void>,
  agentUrl: string,
): Promise<void> {
  const pauseMs = Math.max(soakMs / SOAK_ROUNDS, SOAK_SHORTEST_PAUSE_MS);
  for (let left = soakMs; left > 0; left -= pauseMs) {
    await sleep(Math.min(pauseMs, left));
    await check(agentUrl);
  }
}

async function concludeReleased(shipment: Shipment, run: Run): Promise<ReleaseResult> {
  const extraRevisionIds = await lookForExtras(shipment, run);
  const extras = extraRevisionIds.length === 0 ? '' : `; extra revisions: ${extraRevisionIds.join(', ')}`;
  return finish(shipment, run, {
    outcome: 'released',
    reason: `revision ${run.revisionId ?? ''} is deployed, serves, and passed its checks${extras}`,
    servingRevisionId: run.revisionId,
    servingVerified: true,
    extraRevisionIds,
  });
}

/** The way back, after a failure, a cancellation or a manual rollback. */
async function takeBack(
  input: ReleaseInput,
  shipment: Shipment,
  run: Run,
  failure: StepFailure,
  preemptedBy: RollbackRequest | null,
): Promise<ReleaseResult> {
  const { journal, request } = shipment;
  const why = describeFailure(failure, preemptedBy);
  if (run.deploymentId === null || (!run.mayHaveChanged && preemptedBy?.to === undefined)) {
    return finish(shipment, run, {
      code: failureCode(failure),
      outcome: untouchedOutcome(failure),
      reason: `${why}; the target was not changed`,
      servingRevisionId: run.baseline?.revisionId ?? null,
      servingVerified: run.baseline?.verified ?? false,
      preemptedBy,
    });
  }
  const known = [...input.known, ...run.knownRevisions];
  const restored = await restore(journal, {
    target: request.target,
    deploymentId: run.deploymentId,
    checks: request.checks,
    to: preemptedBy?.to,
    baseline: run.baseline,
    known,
    avoid: run.revisionId === null ? [] : [run.revisionId],
  });
  run.knownRevisions.push(...restored.knownRevisions);
  const extraRevisionIds = await lookForExtras(shipment, run);
  const givenUpRevisionIds = [...givenUp(journal, run, failure), ...extraRevisionIds];
  const common = { code: failureCode(failure), preemptedBy, extraRevisionIds, givenUpRevisionIds };
  if (restored.ok) {
    run.agentUrl = restored.agentUrl;
    const revision = `revision ${restored.revisionId} serves again${restored.verified ? '' : ', unverified'}`;
    return finish(shipment, run, {
      ...common,
      outcome: restoredOutcome(failure, preemptedBy),
      reason: `${why}; ${revision}`,
      servingRevisionId: restored.revisionId,
      servingVerified: restored.verified,
    });
  }
  return finish(shipment, run, {
    ...common,
    ...(await couldNotRestore(shipment, run, restored, why, known)),
  });
}

/**
 * Nothing could be put back. Where nothing served before and nothing of ours serves now, the target is as it was;
 * anything else needs a person.
 */
async function couldNotRestore(
  { journal, request }: Shipment,
  run: Run,
  restored: Restored & { readonly ok: false },
  why: string,
  known: readonly KnownRevision[],
): Promise<Ending> {
  const active = await readActive(journal, request.target, run.deploymentId ?? '');
  const asBefore = restored.nothingToRestore && active === (run.baseline?.revisionId ?? null);
  if (asBefore) {
    const reason = `${why}; nothing served before, and nothing does now`;
    return { outcome: 'failed', reason, servingRevisionId: active, servingVerified: false };
  }
  const reason = `${why}; ${restored.reason}`;
  return {
    outcome: 'rollback_failed',
    reason,
    servingRevisionId: active ?? null,
    servingVerified: false,
    instructions: restoreInstructions({
      target: request.target,
      deploymentId: run.deploymentId,
      baseline: run.baseline,
      known,
      reason,
    }),
  };
}

type Ending = Pick<ReleaseResult, 'outcome' | 'reason' | 'servingRevisionId' | 'servingVerified'> &
  Partial<
    Pick<ReleaseResult, 'code' | 'extraRevisionIds' | 'givenUpRevisionIds' | 'preemptedBy' | 'instructions'>
  >;

function finish({ journal, request }: Shipment, run: Run, ending: Ending): Promise<ReleaseResult> {
  return conclude(
    journal,
    {
      extraRevisionIds: [],
      givenUpRevisionIds: [],
      code: null,
      preemptedBy: null,
      instructions: null,
      target: request.target.name,
      deploymentId: run.deploymentId,
      artifact: describeArtifact(request.artifact),
      commit: request.commit ?? null,
      requestKey: request.requestKey,
      revisionId: run.revisionId,
      knownRevisions: run.knownRevisions,
      agentUrl: run.agentUrl,
      requestedBy: request.requestedBy,
      ...ending,
    },
    request.recordStore,
  );
}

function describeFailure(failure: StepFailure, preemptedBy: RollbackRequest | null): string {
  if (preemptedBy !== null) {
    const { who, reason } = preemptedBy.requestedBy;
    return `stopped by a rollback by ${who}${reason === undefined ? '' : `: ${reason}`}`;
  }
  return failure.canceled ? 'canceled' : failure.message;
}

function failureCode(failure: StepFailure): ReleaseResult['code'] {
  return failure.canceled ? null : failure.code;
}

function untouchedOutcome(failure: StepFailure): Outcome {
  if (failure.canceled) return 'aborted';
  return failure.code === 'SLIPWAY_OUTCOME_UNKNOWN' ? 'errored' : 'failed';
}

function restoredOutcome(failure: StepFailure, preemptedBy: RollbackRequest | null): Outcome {
  if (preemptedBy !== null) return 'rolled_back';
  if (failure.canceled) return 'aborted';
  return failure.code === 'SLIPWAY_OUTCOME_UNKNOWN' ? 'errored' : 'rolled_back';
}

/** The release's own revision, where it was given up on while the control plane may still be at work on it. */
function givenUp(journal: Journal, run: Run, failure: StepFailure): readonly string[] {
  if (run.revisionId === null || failure.code === 'SLIPWAY_REVISION_FAILED') return [];
  const settled = journal.progress.steps.some(
    (step) => step.step === 'deployed' && !step.restoring && step.status === 'done',
  );
  return settled ? [] : [run.revisionId];
}

/** Looks for revisions that an unanswered PATCH left behind. Not being able to look is no reason to fail. */
async function lookForExtras(shipment: Shipment, run: Run): Promise<readonly string[]> {
  const unanswered = run.ambiguous || (run.mayHaveChanged && run.revisionId === null);
  if (!unanswered || run.objectPath === null || run.deploymentId === null) return [];
  try {
    return (await findExtraRevisions(shipment, run.deploymentId, run.objectPath, run.revisionId)) ?? [];
  } catch (error) {
    shipment.journal.note({ phase: `could not look for extra revisions: ${explain(error).message}` });
    return [];
  }
}

async function readActive(
  journal: Journal,
  target: ReleaseInput['request']['target'],
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
