import { type WorkFact } from './facts.ts';
import { type Rule } from './violation.ts';

const CHANGES = new Set(['createDeployment', 'patchDeployment', 'redeployRevision']);

/** Rule 1: at most one release is changing a target at any time. */
export const oneAtATime: Rule = ({ target }) => {
  const spans = target.works
    .flatMap((work) => changing(work) ?? [])
    .sort((one, other) => one.from - other.from);
  return spans.flatMap((span, index) => {
    const before = spans[index - 1];
    if (before === undefined || before.to <= span.from) return [];
    const what = `it began to change the target while ${before.workflowId} was changing it`;
    return [{ rule: 1 as const, workflowId: span.workflowId, what }];
  });
};

/** From its first request that changes something to the end of its last one. */
function changing({
  workflowId,
  activities,
  endedAt,
}: WorkFact): { readonly workflowId: string; readonly from: number; readonly to: number } | undefined {
  const changes = activities.filter(({ name }) => CHANGES.has(name));
  const [first] = changes;
  if (first === undefined) return undefined;
  const to = Math.max(...changes.map((change) => change.endedAt ?? endedAt ?? Infinity));
  return { workflowId, from: first.scheduledAt, to };
}
