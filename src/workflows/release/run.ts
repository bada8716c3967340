import { CancellationScope, workflowInfo } from '@temporalio/workflow';

import type { PassedChecks } from '../../domain/check/passedChecks.ts';
import { isAnother, quarantineRevisions } from '../../domain/deployment/revision.ts';
import type {
  Baseline,
  KnownRevision,
  ReleaseRequest,
  ReleaseResult,
  RollbackRequest,
  Waiting,
} from '../../domain/release/release.ts';
import type { Finding } from '../../domain/restore/restoreDecision.ts';
import { stepPolicy } from '../../domain/stepTable.ts';
import { targetOf } from '../../domain/target/targetSpec.ts';
import type { ReleaseInput } from '../../messages/workflowTypes.ts';
import type { CheckedRevision } from '../check/runCheck.ts';
import type { StepFailure } from '../failure.ts';
import { type Asked, RollbackProof } from '../identity/proveIdentity.ts';
import { Interventions } from '../intervention/interventions.ts';
import { Journal } from '../journal.ts';
import { conclude, emptyConclusion, type Ending, instructionsAfter } from './conclude.ts';

/** Why a release stopped. */
export interface Setback {
  readonly failure: StepFailure;
  /** Whether it was asked to stop, even if it later failed for another reason. */
  readonly stopped: boolean;
  /** Who asked and why, or why it stopped by itself; `null` for Temporal's own cancellation. */
  readonly stopReason: string | null;
  readonly preemptedBy: RollbackRequest | null;
}

/** One running release: its request, and what it has found and done so far. */
export class Run {
  readonly input: ReleaseInput;
  readonly request: ReleaseRequest;
  readonly journal: Journal;
  readonly interventions: Interventions;
  /** The forward steps. A rollback, an abort or a cancellation cancels them at once. */
  readonly forward = new CancellationScope();
  /** The rollback that the release makes way for. */
  preemptedBy: RollbackRequest | null = null;
  /** The proof of who asked for that rollback. */
  readonly proof = new RollbackProof();
  deploymentId: string | null = null;
  /** Whether a request to create the deployment was not answered, and no read showed the deployment. */
  creationUnanswered = false;
  baseline: Baseline | null = null;
  objectPath: string | null = null;
  /**
   * When the next freeze may begin, in milliseconds since 1970: nothing that deploys is sent from then on. `Infinity`:
   * none delays the release any more.
   */
  nextFreezeAt = Infinity;
  /** Undoes the PATCH. Set before the PATCH is sent; `null` if the control plane certainly applied none. */
  undoPatch: ((setback: Setback) => Promise<ReleaseResult>) | null = null;
  /** The latest revision before the PATCH; `null` if there was none. */
  latestBefore: string | null = null;
  /** Whether a PATCH stayed unanswered before the one that made the revision. */
  ambiguous = false;
  revisionId: string | null = null;
  agentUrl: string | null = null;
  readonly knownRevisions: KnownRevision[] = [];
  readonly passed: PassedChecks[] = [];
  /** The failures found on the baseline, before the release changed anything. */
  readonly foundBefore: Finding[] = [];
  /** The release's own revision, once it serves. */
  checked: CheckedRevision | null = null;
  /** The revisions that people asked to leave: never restored automatically. */
  readonly left: string[] = [];
  /** The revisions that are in quarantine now. `null`: those that were when the release began. */
  quarantined: readonly string[] | null = null;

  /** @param onPersonAwaited - called when the release waits for an approval or a decision. It must not block. */
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

  readonly stopped = (): boolean => this.forward.consideredCancelled;

  /** The revisions of the deployment that the target knew, oldest first. */
  get knownBefore(): readonly KnownRevision[] {
    const { known, knownIn } = this.input;
    if (isAnother(this.deploymentId, knownIn)) return [];
    return this.quarantined === null ? known : quarantineRevisions(known, this.quarantined);
  }

  /** The revisions that the target knew and those that the release found, oldest first. */
  get known(): readonly KnownRevision[] {
    return [...this.knownBefore, ...this.knownRevisions];
  }
}

/** What proves who asked for the release, whose request was sent to the target's workflow. */
function askedOf({ request: { requestKey, identity }, queuedAt }: ReleaseInput): Asked {
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

/** Ends a release. If the outcome needs a person, the result carries instructions. */
export function finish(run: Run, { stuck, ...ending }: Ending): Promise<ReleaseResult> {
  const { journal, request, deploymentId, baseline, known, revisionId, knownRevisions, agentUrl } = run;
  run.interventions.enter('ended');
  const isUnanswered = run.undoPatch !== null && (run.ambiguous || revisionId === null);
  return conclude(
    journal,
    {
      ...emptyConclusion(request.target.name, request),
      requestedBy: run.interventions.requestedBy,
      deploymentId,
      revisionId,
      knownRevisions,
      agentUrl,
      unansweredUpload: isUnanswered ? (run.objectPath ?? undefined) : undefined,
      mayAppearUntil: run.creationUnanswered && deploymentId === null ? watchedUntil(request) : undefined,
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

function watchedUntil({ steps }: ReleaseRequest): string {
  return new Date(Date.now() + stepPolicy('watch', steps).scheduleToCloseMs).toISOString();
}
