import { upsertSearchAttributes } from '@temporalio/workflow';

import { artifactIdentity, describeArtifact, isPinned } from '../../domain/artifact/artifact.ts';
import { type PassedChecks, withDigests } from '../../domain/check/passedChecks.ts';
import { type Predicament, restoreInstructions } from '../../domain/release/instructions.ts';
import { needsPerson } from '../../domain/release/outcome.ts';
import type { ReleaseRequest, ReleaseResult, RollbackRequest } from '../../domain/release/release.ts';
import { attribute } from '../../domain/searchAttributes.ts';
import { explain } from '../failure.ts';
import { type Journal, now } from '../journal.ts';

/** The part of a result that does not come from the journal. */
export type Conclusion = Omit<
  ReleaseResult,
  'kind' | 'releaseId' | 'steps' | 'verdicts' | 'interventions' | 'startedAt' | 'endedAt' | 'baseline'
>;

/** How a release or a rollback ended. Fields that are left out keep the values of {@link emptyConclusion}. */
export type Ending = Pick<Conclusion, 'outcome' | 'reason'> &
  Partial<Omit<Conclusion, 'instructions'>> & {
    /** Why a restore failed, the revisions that it tried or left in place, and what is known for the instructions. */
    readonly stuck?: Pick<Predicament, 'code' | 'attempted' | 'restored'> &
      Partial<Pick<Predicament, 'known'>>;
  };

/** What a person should do after the release ended; `null` if no person is needed. */
export function instructionsAfter(
  situation: Pick<Predicament, 'target' | 'deploymentId' | 'baseline' | 'known'>,
  { outcome, reason, code = null }: Ending,
  stuck: Ending['stuck'] = { code, attempted: [] },
): string | null {
  return needsPerson(outcome) ? restoreInstructions({ ...situation, reason, ...stuck }) : null;
}

/** The conclusion of a release or a rollback that found and changed nothing. */
export function emptyConclusion(
  target: string,
  request: ReleaseRequest | RollbackRequest,
): Omit<Conclusion, 'outcome' | 'reason'> {
  const isRelease = 'artifact' in request;
  return {
    target,
    deploymentId: null,
    artifact: isRelease ? describeArtifact(request.artifact) : null,
    artifactMayChange: (isRelease && !isPinned(artifactIdentity(request.artifact))) || undefined,
    commit: isRelease ? (request.commit ?? null) : null,
    committedAt: isRelease ? request.committedAt : undefined,
    requestKey: isRelease ? request.requestKey : null,
    code: null,
    instructions: null,
    revisionId: null,
    servingRevisionId: null,
    servingVerified: false,
    extraRevisionIds: [],
    givenUpRevisionIds: [],
    knownRevisions: [],
    agentUrl: null,
    requestedBy: request.requestedBy,
    preemptedBy: null,
  };
}

/**
 * Ends a release or a rollback: sets the outcome in the search attributes and the current details, and writes the
 * record to the record store. If the record cannot be written, the outcome stays the same and the reason says so.
 *
 * Run it in a non-cancellable scope.
 * @param passed - the checks that each revision passed. They are stored with the record for a later restore.
 */
export async function conclude(
  journal: Journal,
  conclusion: Conclusion,
  recordStore: string,
  passed: readonly PassedChecks[] = [],
): Promise<ReleaseResult> {
  journal.end(conclusion.outcome, conclusion.instructions);
  const { outcome, servingRevisionId, revisionId } = conclusion;
  const revision = revisionId ?? servingRevisionId;
  upsertSearchAttributes([
    attribute('outcome', outcome),
    ...(revision === null ? [] : [attribute('revision', revision)]),
  ]);
  const result = resultOf(journal, conclusion);
  try {
    const digests = await journal.step('record', undefined, async (activities) => {
      const input = { store: recordStore, result, passed };
      const { location, digests: kept, attempt } = await activities.recordRelease(input);
      return { result: kept, attempt, detail: location };
    });
    const knownRevisions = withDigests(conclusion.knownRevisions, passed, digests);
    return resultOf(journal, { ...conclusion, knownRevisions });
  } catch (error) {
    const reason = `${conclusion.reason} (its record could not be written: ${explain(error).message})`;
    return resultOf(journal, { ...conclusion, reason });
  }
}

function resultOf(journal: Journal, conclusion: Conclusion): ReleaseResult {
  const { releaseId, startedAt, baseline, steps, verdicts, interventions } = journal.progress;
  const kind: ReleaseResult['kind'] = journal.progress.kind === 'rollback' ? 'rollback' : 'release';
  const journaled = { releaseId, kind, startedAt, endedAt: now(), baseline, steps, verdicts, interventions };
  return { ...conclusion, ...journaled };
}
