import type { Rule } from './violation.ts';

/** Rule 4: a check counts only when the revision that is followed is the active one. */
export const servedWhenChecked: Rule = ({ target }) =>
  target.works.flatMap(({ workflowId, activities }) => {
    const changed = activities.findIndex(
      ({ name }) => name === 'patchDeployment' || name === 'redeployRevision',
    );
    if (changed === -1) return [];
    return activities.flatMap((check, index) => {
      if (index < changed || check.name !== 'runCheck' || check.outcome !== 'completed') return [];
      const revisionId = check.input['revisionId'];
      const served = activities
        .slice(0, index)
        .some(
          ({ name, outcome, input }) =>
            name === 'confirmServing' && outcome === 'completed' && input['revisionId'] === revisionId,
        );
      if (served) return [];
      const what = `a check of revision ${String(revisionId)} counted before that revision was known to serve`;
      return [{ rule: 4 as const, workflowId, what }];
    });
  });
