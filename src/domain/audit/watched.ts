import { type Rule } from './violation.ts';

/** Rule 6: a revision that was given up on is watched, so that it is noticed when it comes up after all. */
export const watched: Rule = ({ target: { works, activities, idle } }) =>
  works.flatMap(({ workflowId, result, endedAt }, index) => {
    if (result?.servingRevisionId == null || endedAt === null) return [];
    const later = works.slice(index + 1);
    return result.givenUpRevisionIds.flatMap((revisionId) => {
      const isWatched = activities.some(
        ({ name, input }) => name === 'awaitLateSuccess' && input['revisionId'] === revisionId,
      );
      const servesOnPurpose = [result, ...later.map((work) => work.result)].some(
        (other) => other?.servingRevisionId === revisionId,
      );
      // It watches when it has nothing else to do, and not once it was ended for good.
      const isBusy = later.some((work) => work.endedAt === null);
      if (isWatched || servesOnPurpose || isBusy || !idle) return [];
      const what = `revision ${revisionId} was given up on, and nobody watches it`;
      return [{ rule: 6 as const, workflowId, what }];
    });
  });
