import { type Change, changesOf } from './changes.ts';
import type { TargetFacts, WorkFact } from './facts.ts';
import type { Rule, Violation } from './violation.ts';

/**
 * Rule 1, whatever Temporal's own tools did to the target and however its control plane is spelled: no number is given
 * twice over all runs of a target, and no two targets change one deployment by turns. One that takes over from another
 * for good is none of these.
 */
export const oneOwner: Rule = ({ target, others }) => [
  ...repeatedNumbers(target.works),
  ...(others ?? []).flatMap((other) => changedByTurns(target, other)),
];

function repeatedNumbers(works: readonly WorkFact[]): Violation[] {
  const given = new Set<string>();
  return works.flatMap(({ workflowId }) => {
    const number = /-(\d+)$/.exec(workflowId)?.[1] ?? workflowId;
    const isRepeated = given.has(number);
    given.add(number);
    return isRepeated
      ? [{ rule: 1 as const, workflowId, what: `its number ${number} was given before` }]
      : [];
  });
}

function changedByTurns(target: TargetFacts, other: TargetFacts): Violation[] {
  const own = target.works.flatMap(changesOf);
  return [...new Set(own.map(({ deploymentId }) => deploymentId))].flatMap((deploymentId) => {
    const times = own.filter((change) => change.deploymentId === deploymentId).map(({ at }) => at);
    const [from, to] = [Math.min(...times), Math.max(...times)];
    const between = (change: Change): boolean =>
      change.deploymentId === deploymentId && from < change.at && change.at < to;
    const found = other.works.flatMap(changesOf).find(between);
    if (found === undefined) return [];
    const what = `it changed the deployment ${deploymentId}, which ${target.workflowId} was changing`;
    return [{ rule: 1 as const, workflowId: found.workflowId, what }];
  });
}
