import { describeArtifact } from '../domain/artifact.ts';
import { type Predicament, restoreInstructions } from '../domain/instructions.ts';
import type { PassedChecks } from '../domain/passedChecks.ts';
import { type Baseline, type KnownRevision, needsPerson, type ReleaseResult } from '../domain/release.ts';
import type { Finding } from '../domain/restoreDecision.ts';
import type { ReleaseInput } from '../messages/workflowTypes.ts';
import type { Asked } from './bringUp.ts';
import { conclude } from './conclude.ts';
import { explain } from './failure.ts';
import type { Interventions } from './interventions.ts';
import { findExtraRevisions, type Shipment } from './ship.ts';

/** One release under way: what it ships, and what it has found out and done so far. */
export interface Run {
  readonly input: ReleaseInput;
  readonly shipment: Shipment;
  readonly interventions: Interventions;
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
  /** The checks that revisions passed in it. */
  passed: PassedChecks[];
  /** What was found on what served before anything was changed. */
  foundBefore: Finding[];
  /** Its own revision, once that serves. */
  asked: Asked | null;
  /** What people have asked to leave: never restored automatically. */
  readonly left: readonly string[];
}

/** How a release ends; what is left out is nothing. */
export type Ending = Pick<ReleaseResult, 'outcome' | 'reason' | 'servingRevisionId' | 'servingVerified'> &
  Partial<
    Pick<
      ReleaseResult,
      | 'code'
      | 'extraRevisionIds'
      | 'givenUpRevisionIds'
      | 'copyRevisionIds'
      | 'preemptedBy'
      | 'instructions'
      | 'settingsWorked'
    >
  > & {
    /** What a restore failed of, and the revisions that it tried, or that it left in place. */
    readonly stuck?: Pick<Predicament, 'code' | 'attempted' | 'restored'>;
  };

/** Ends a release. An outcome that needs a person comes with what to do. */
export function finish(run: Run, { stuck, ...ending }: Ending): Promise<ReleaseResult> {
  const { journal, request } = run.shipment;
  run.interventions.enter('ended');
  const unansweredUpload = wentUnanswered(run) ? run.objectPath : null;
  return conclude(
    journal,
    {
      code: null,
      extraRevisionIds: [],
      givenUpRevisionIds: [],
      preemptedBy: null,
      ...(unansweredUpload === null ? {} : { unansweredUpload }),
      instructions: needsPerson(ending.outcome)
        ? restoreInstructions({
            target: request.target,
            deploymentId: run.deploymentId,
            baseline: run.baseline,
            known: [...run.input.known, ...run.knownRevisions],
            reason: ending.reason,
            ...(stuck ?? { code: ending.code ?? null, attempted: [] }),
          })
        : null,
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
    run.passed,
  );
}

/**
 * Looks for revisions that its PATCH left behind beside the one that was followed: a request that was given up on lands
 * late, and one that was answered may have been delivered twice on its way. Not being able to look is no reason to fail.
 */
export async function lookForExtras({ shipment, ...run }: Run): Promise<readonly string[]> {
  if (!run.mayHaveChanged || run.objectPath === null || run.deploymentId === null) return [];
  try {
    const { deploymentId, objectPath, revisionId, baseline } = run;
    const since = baseline?.revisionId ?? null;
    return (await findExtraRevisions(shipment, deploymentId, objectPath, revisionId, since)) ?? [];
  } catch (error) {
    shipment.journal.note({ phase: `could not look for extra revisions: ${explain(error).message}` });
    return [];
  }
}

/** Whether a PATCH of it may have been taken, and nobody was told. */
function wentUnanswered({
  mayHaveChanged,
  ambiguous,
  revisionId,
}: Pick<Run, 'mayHaveChanged' | 'ambiguous' | 'revisionId'>): boolean {
  return mayHaveChanged && (ambiguous || revisionId === null);
}
