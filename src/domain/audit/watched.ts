import { losesTrack } from '../lateRevisions.ts';
import type { ReleaseResult } from '../release.ts';
import type { TargetFacts, WorkFact } from './facts.ts';
import type { Rule, Violation } from './violation.ts';

/**
 * Rule 6: a revision that was given up on is watched, so that it is noticed when it comes up after all; and so is an
 * upload whose PATCH went unanswered, because what was given up on may still land.
 */
export const watched: Rule = ({ target }) =>
  target.works.flatMap((work, index) => {
    const { workflowId, result, endedAt } = work;
    if (result?.servingRevisionId == null || endedAt === null) return [];
    // A deadline that passed before the target came to it leaves nothing to watch. It counts from when the result says
    // that the work ended, which is before its record was written.
    if (target.lastTaskAt >= Date.parse(result.endedAt) + watchedForMs(work)) return [];
    const later = target.works.slice(index + 1);
    // It watches when it has nothing else to do, and not once it was ended for good.
    if (!target.idle || later.some((work) => work.endedAt === null)) return [];
    const results = [result, ...later.flatMap((work) => work.result ?? [])];
    return [...unwatchedRevisions(target, results), ...unwatchedUpload(target, results)].map(
      (what): Violation => ({ rule: 6, workflowId, what }),
    );
  });

/** For how long what a piece of work leaves behind is watched, where its request says it. */
function watchedForMs({ request }: WorkFact): number {
  const override = 'steps' in request ? request.steps.watch : undefined;
  return override?.scheduleToCloseMs ?? Infinity;
}

type Results = readonly ReleaseResult[];

function unwatchedRevisions({ activities }: TargetFacts, results: Results): string[] {
  return (results[0]?.givenUpRevisionIds ?? [])
    .filter(
      (revisionId) =>
        !activities.some(
          ({ name, input }) => name === 'awaitLateSuccess' && input['revisionId'] === revisionId,
        ),
    )
    .filter((revisionId) => !results.some(({ servingRevisionId }) => servingRevisionId === revisionId))
    .map((revisionId) => `revision ${revisionId} was given up on, and nobody watches it`);
}

function unwatchedUpload({ activities }: TargetFacts, results: Results): string[] {
  const upload = results[0]?.unansweredUpload;
  const isWatched = activities.some(
    ({ name, input }) => name === 'awaitLateUpload' && input['objectPath'] === upload,
  );
  if (upload === undefined || isWatched || results.some(losesTrack)) return [];
  return [`a PATCH of ${upload} went unanswered, and nobody watches whether it lands`];
}
