import { CancellationScope, workflowInfo } from '@temporalio/workflow';

import type { PassedChecks } from '../../domain/check/passedChecks.ts';
import type {
  Baseline,
  KnownRevision,
  ReleaseRequest,
  ReleaseResult,
  RollbackRequest,
  Waiting,
} from '../../domain/release/release.ts';
import type { Finding } from '../../domain/restore/restoreDecision.ts';
import type { ReleaseInput } from '../../messages/workflowTypes.ts';
import type { Asked } from '../check/bringUp.ts';
import { explain, type StepFailure } from '../failure.ts';
import type { Asked as AskedWithProof } from '../identity/proveIdentity.ts';
import { RollbackProof, targetOf } from '../identity/rollbackProof.ts';
import { Interventions } from '../intervention/interventions.ts';
import { Journal } from '../journal.ts';
import { conclude, emptyConclusion, type Ending, instructionsAfter } from './conclude.ts';
import { readExtraRevisions, type Shipment } from './ship.ts';

/** Why a release does not go on. */
export interface Setback {
  readonly failure: StepFailure;
  /** Whether it was asked to stop, even if it failed for another reason in the end. */
  readonly stopped: boolean;
  /** Who asked and why, or why it stopped by itself; `null` if that was Temporal's own cancellation. */
  readonly stopReason: string | null;
  /** The rollback that it makes way for. */
  readonly preemptedBy: RollbackRequest | null;
}

/** One release under way: what it ships, and what it has found out and done so far. */
export class Run implements Shipment {
  readonly input: ReleaseInput;
  readonly request: ReleaseRequest;
  readonly journal: Journal;
  readonly interventions: Interventions;
  /** The way forward: a rollback, an abort or a cancellation ends it at once. */
  readonly forward = new CancellationScope();
  /** The rollback that it makes way for. */
  preemptedBy: RollbackRequest | null = null;
  /** Of who asked for that rollback. */
  readonly proof = new RollbackProof();
  deploymentId: string | null = null;
  baseline: Baseline | null = null;
  objectPath: string | null = null;
  /** Undoes the PATCH. Set before the PATCH is sent; `null`: none was taken for sure. */
  undoPatch: ((setback: Setback) => Promise<ReleaseResult>) | null = null;
  /** A PATCH went unanswered before the one that made its revision. */
  ambiguous = false;
  revisionId: string | null = null;
  agentUrl: string | null = null;
  readonly knownRevisions: KnownRevision[] = [];
  /** The checks that revisions passed in it. */
  readonly passed: PassedChecks[] = [];
  /** What was found on what served before anything was changed. */
  readonly foundBefore: Finding[] = [];
  /** Its own revision, once that serves. */
  asked: Asked | null = null;
  /** What people have asked to leave: never restored automatically. */
  readonly left: string[] = [];

  /** @param onPersonAwaited - called when a person has to approve, or to decide. It must not wait. */
  constructor(input: ReleaseInput, onPersonAwaited: (waiting: Waiting) => void) {
    const { releaseId, request } = input;
    this.input = input;
    this.request = request;
    this.journal = new Journal(releaseId, 'release', request.steps, request.recordStore);
    this.interventions = new Interventions(
      this.journal,
      { ...request, asked: askedOf(input) },
      this.forward,
      onPersonAwaited,
    );
  }

  /** Whether it was asked to stop. */
  readonly stopped = (): boolean => this.forward.consideredCancelled;

  /** What the target knew of its revisions, and what the release has found out, oldest first. */
  get known(): readonly KnownRevision[] {
    return [...this.input.known, ...this.knownRevisions];
  }
}

/** What proves who asked for the release: its target was asked, which is the parent of its workflow. */
function askedOf({ request: { requestKey, identity }, queuedAt }: ReleaseInput): AskedWithProof {
  const { workflowId, startTime } = workflowInfo();
  return {
    statement: {
      action: 'release',
      workflowId: targetOf(workflowId),
      requestId: requestKey,
    },
    identity,
    at: queuedAt ?? startTime.toISOString(),
  };
}

/** Ends a release. An outcome that needs a person comes with what to do. */
export function finish(run: Run, { stuck, ...ending }: Ending): Promise<ReleaseResult> {
  const { journal, request, deploymentId, baseline, known, revisionId, knownRevisions, agentUrl } = run;
  run.interventions.enter('ended');
  const isUnanswered = run.undoPatch !== null && (run.ambiguous || revisionId === null);
  return conclude(
    journal,
    {
      ...emptyConclusion(request.target.name, request),
      requestedBy: run.interventions.requestedBy,
      ...{ deploymentId, revisionId, knownRevisions, agentUrl },
      unansweredUpload: isUnanswered ? (run.objectPath ?? undefined) : undefined,
      instructions: instructionsAfter(
        { target: request.target, deploymentId, baseline, known },
        ending,
        stuck,
      ),
      ...ending,
      preemptedBy: ending.preemptedBy == null ? null : run.proof.recorded(ending.preemptedBy),
    },
    request.recordStore,
    run.passed,
  );
}

/**
 * Looks for revisions that its PATCH left behind beside the one that was followed: a request that was given up on lands
 * late, and one that was answered may have been delivered twice on its way. Not being able to look is no reason to fail.
 */
export async function findExtraRevisions(run: Run): Promise<readonly string[]> {
  const { undoPatch, deploymentId, objectPath, revisionId, baseline } = run;
  if (undoPatch === null || objectPath === null || deploymentId === null) return [];
  try {
    const since = baseline?.revisionId ?? null;
    return (await readExtraRevisions(run, deploymentId, objectPath, revisionId, since)) ?? [];
  } catch (error) {
    run.journal.note({ phase: `could not look for extra revisions: ${explain(error).message}` });
    return [];
  }
}
