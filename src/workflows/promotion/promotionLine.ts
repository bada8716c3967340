import { workflowInfo } from '@temporalio/workflow';

import type { Artifact } from '../../domain/artifact/artifact.ts';
import { FREEZE } from '../../domain/intervention/intervention.ts';
import { confirmCandidate, type Line, shortIdentity } from '../../domain/promotion/candidate.ts';
import { type PromotionRequest, promotionRequestKey } from '../../domain/promotion/promotion.ts';
import type { Actor, ReleaseRequest } from '../../domain/release/release.ts';
import type { HistoryRow } from '../../domain/target/targetState.ts';
import { Ended, type Way } from './promotionWay.ts';

/** Looks at the targets of the line. */
export function lookAtLine({ journal, request }: Way): Promise<Line> {
  const { from, to, downstream } = request;
  return journal.step('candidate', `${from.name} → ${to.name}`, async (activities) => {
    const { line, attempt } = await activities.lookAtLine({ from, to, downstream });
    const serves = line.from.artifact === null ? 'nothing of ours' : shortIdentity(line.from.artifact);
    return { result: line, attempt, detail: `${serves} serves on ${from.name}` };
  });
}

/**
 * Looks once more whether the candidate still is what is to be promoted. Where `to` was changed by hand, a person says
 * what to do; going on means in the place of what serves now.
 *
 * @returns whether everything is as it was.
 * @throws Ended
 */
export async function confirmLine(way: Way): Promise<boolean> {
  const { candidate, before, interventions } = way;
  if (candidate === null) return true;
  const line = await lookAtLine(way);
  const confirmation = confirmCandidate(candidate, before?.servingRevisionId ?? null, line);
  switch (confirmation.kind) {
    case 'stands':
      return true;
    case 'changed_by_hand':
      if (way.accepted !== null && way.accepted === line.to.servingRevisionId) return true;
      await interventions.ask(`${confirmation.reason}: say "retry" to promote all the same, or "abort"`);
      way.before = line.to;
      way.accepted = line.to.servingRevisionId;
      return false;
    case 'superseded':
    case 'rejected':
      throw new Ended({ outcome: confirmation.kind, reason: confirmation.reason });
  }
}

/**
 * Releases the candidate on `to`, through its target, and waits for the end of it.
 *
 * @throws Ended where it was not released: as the release ended, and the line is stopped where it is bad.
 */
export async function releaseOnTarget(way: Way, sizeBytes: number): Promise<HistoryRow> {
  const { journal, request } = way;
  const { to } = request;
  const { workflowId, runId } = workflowInfo();
  // The same for every attempt: the target answers a submission once.
  const submission = `${workflowId} ${runId}`;
  way.submission = submission;
  const { releaseId } = await journal.step('promote', to.name, async (activities) => {
    const request = releaseRequest(way, sizeBytes);
    const { answer, attempt } = await activities.submitToTarget({ request, submission });
    return { result: answer, attempt, detail: `${answer.releaseId}: ${answer.reason}` };
  });
  const row = await awaitOwnRelease(way, releaseId);
  if (row.outcome === 'released') return row;
  const reason = tellRelease(way, row);
  await stopLineWhereBad(way, row, reason);
  throw new Ended({ outcome: row.outcome, reason });
}

/** Waits for the end of the release that the promotion asked for. */
export async function awaitOwnRelease(way: Way, releaseId: string): Promise<HistoryRow> {
  way.releaseId = releaseId;
  return (way.ended = await awaitRelease(way, releaseId));
}

/** How the release on `to` ended, in words. */
export function tellRelease({ request }: Way, { releaseId, outcome, reason }: HistoryRow): string {
  return `${releaseId} on "${request.to.name}" ended ${outcome.replaceAll('_', ' ')}: ${reason}`;
}

/** Waits for the end of a release, or of a rollback by its request's id. */
export function awaitRelease({ journal, request }: Way, id: string): Promise<HistoryRow> {
  return journal.step('promote', id, async (activities) => {
    const { row, attempt } = await activities.awaitRelease({ target: request.to, id });
    return { result: row, attempt, detail: row.outcome };
  });
}

const STOPS_THE_LINE: ReadonlySet<string> = new Set(['failed', 'rolled_back', 'rollback_failed', 'errored']);

/**
 * Decision: what turned out bad on a target puts it on hold, which holds whatever moves towards it.
 *
 * @returns whether the release was bad.
 */
export async function stopLineWhereBad(
  { journal, request }: Way,
  { outcome }: HistoryRow,
  reason: string,
): Promise<boolean> {
  if (!STOPS_THE_LINE.has(outcome)) return false;
  const by = promotionActor(request, reason);
  await journal.step('promote', 'stop the line', async (activities) => {
    const { attempt } = await activities.holdTarget({ target: request.to, by });
    return { result: undefined, attempt };
  });
  return true;
}

/** As whom a promotion sends its messages to a target. */
export function promotionActor({ name }: PromotionRequest, reason: string): Required<Actor> {
  return { who: 'slipway', from: `promotion ${name}`, reason: reason.slice(0, REASON_MAX_CHARACTERS) };
}

/** What a message to a target takes. */
const REASON_MAX_CHARACTERS = 900;

function releaseRequest({ request, candidate, interventions }: Way, sizeBytes: number): ReleaseRequest {
  const { to, from, store, release, freezes, overrideFreeze, requestedBy, name } = request;
  if (candidate === null) throw new Ended({ outcome: 'errored', reason: 'nothing was chosen' });
  const why = requestedBy.reason === undefined ? '' : `: ${requestedBy.reason}`;
  return {
    ...release,
    requestKey: promotionRequestKey(name, candidate.artifact, workflowInfo().runId),
    target: to,
    artifact: artifactOf(candidate.artifact, store, sizeBytes),
    queue: 'all',
    recordStore: store,
    ...(candidate.commit === null ? {} : { commit: candidate.commit }),
    ...(freezes.length === 0 ? {} : { freezes }),
    ...(overrideFreeze === true || interventions.wasSkipped(FREEZE) ? { overrideFreeze: true } : {}),
    requestedBy: {
      ...requestedBy,
      reason: `promotion ${name} from ${from.name}${why}`.slice(0, REASON_MAX_CHARACTERS),
    },
  };
}

/** The artifact behind an identity that is pinned. */
function artifactOf(identity: string, store: string, sizeBytes: number): Artifact {
  return identity.startsWith('image:')
    ? { kind: 'image', uri: identity.slice('image:'.length) }
    : { kind: 'tarball', digest: identity, sizeBytes, store };
}
