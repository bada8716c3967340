import { describeArtifact } from '../domain/artifact.ts';
import { restoreInstructions } from '../domain/instructions.ts';
import { type Baseline, type KnownRevision, type ReleaseResult } from '../domain/release.ts';
import { conclude } from './conclude.ts';
import { explain } from './failure.ts';
import { type Interventions } from './interventions.ts';
import { type ReleaseInput } from './messages.ts';
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
}

/** How a release ends; what is left out is nothing. */
export type Ending = Pick<ReleaseResult, 'outcome' | 'reason' | 'servingRevisionId' | 'servingVerified'> &
  Partial<
    Pick<ReleaseResult, 'code' | 'extraRevisionIds' | 'givenUpRevisionIds' | 'preemptedBy' | 'instructions'>
  >;

/** Ends a release. An outcome that needs a person comes with what to do. */
export function finish(run: Run, ending: Ending): Promise<ReleaseResult> {
  const { journal, request } = run.shipment;
  run.interventions.enter('ended');
  const needsPerson = ending.outcome === 'errored' || ending.outcome === 'rollback_failed';
  return conclude(
    journal,
    {
      code: null,
      extraRevisionIds: [],
      givenUpRevisionIds: [],
      preemptedBy: null,
      instructions: needsPerson
        ? restoreInstructions({
            target: request.target,
            deploymentId: run.deploymentId,
            baseline: run.baseline,
            known: [...run.input.known, ...run.knownRevisions],
            reason: ending.reason,
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
  );
}

/** Looks for revisions that an unanswered PATCH left behind. Not being able to look is no reason to fail. */
export async function lookForExtras({ shipment, ...run }: Run): Promise<readonly string[]> {
  const unanswered = run.ambiguous || (run.mayHaveChanged && run.revisionId === null);
  if (!unanswered || run.objectPath === null || run.deploymentId === null) return [];
  try {
    return (await findExtraRevisions(shipment, run.deploymentId, run.objectPath, run.revisionId)) ?? [];
  } catch (error) {
    shipment.journal.note({ phase: `could not look for extra revisions: ${explain(error).message}` });
    return [];
  }
}
