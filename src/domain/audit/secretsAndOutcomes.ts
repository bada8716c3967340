import { revisionPhase } from '../deployment/revision.ts';
import type { Rule } from './violation.ts';

/** Shorter ones stand in many texts by chance. */
const SECRET_MIN_CHARACTERS = 6;

/** Rule 7: no secret value ever enters a history. */
export const noSecrets: Rule = ({ target, secrets }) =>
  target.texts
    .filter(({ text }) =>
      secrets.some((secret) => secret.length >= SECRET_MIN_CHARACTERS && text.includes(secret)),
    )
    .map(({ workflowId }) => ({ rule: 7, workflowId, what: 'its history holds the value of a secret' }));

/** Rule 8: a revision that did not come up, or whose status nobody knows, is no success. */
export const deployedOnly: Rule = ({ target }) =>
  target.works.flatMap(({ workflowId, kind, activities, result }) => {
    if (kind !== 'release' || result?.outcome !== 'released') return [];
    const deployed = activities.some(({ name, outcome, input, result: awaited }) => {
      if (name !== 'awaitDeployed' || outcome !== 'completed') return false;
      const revision = awaited?.['revision'] as { readonly status?: string } | undefined;
      return (
        input['revisionId'] === result.revisionId && revisionPhase(revision?.status ?? '') === 'deployed'
      );
    });
    if (deployed) return [];
    const what = `it ended released, and revision ${result.revisionId ?? ''} was never seen DEPLOYED`;
    return [{ rule: 8, workflowId, what }];
  });

/** Rule 9: nothing that is said to a workflow wedges it, and each ends with a result. */
export const neverWedged: Rule = ({ target }) => [
  ...target.taskFailures
    .filter(({ isLast }) => !isLast)
    .map(({ workflowId, message }) => ({
      rule: 9 as const,
      workflowId,
      what: `a workflow task failed: ${message}`,
    })),
  ...target.works
    .filter(({ ended, result }) => result === null && (ended === 'failed' || ended === 'completed'))
    .map(({ workflowId }) => ({ rule: 9 as const, workflowId, what: 'it ended without a result' })),
];

/** Rule 10: every history replays. One that does not stops its workflow for good. */
export const neverStuck: Rule = ({ target }) =>
  target.taskFailures
    .filter(({ isLast }) => isLast)
    .map(({ workflowId, message }) => ({
      rule: 10,
      workflowId,
      what: `workers cannot continue it: its last workflow task failed: ${message}`,
    }));
