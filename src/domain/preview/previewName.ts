import { TARGET_NAME, type TargetSpec, targetWorkflowId } from '../target/targetSpec.ts';
import type { PreviewSummary } from './preview.ts';

/** The id of a preview's workflow, `preview:…`: that of its target without `target:`. */
export function previewWorkflowId(target: TargetSpec): string {
  return targetWorkflowId({ ...target, preview: true }).slice('target:'.length);
}

const PLACE = '{pr}';

/** The problem of a pattern of deployments' names, such as `greeter-pr-{pr}`; `undefined` if it is valid. */
export function deploymentPatternProblem(pattern: string): string | undefined {
  const parts = pattern.split(PLACE);
  if (parts.length !== 2) return `expected a name with ${PLACE} once, such as greeter-pr-${PLACE}`;
  return TARGET_NAME.test(deploymentOf(pattern, 1))
    ? undefined
    : `expected letters, digits, dots and dashes around ${PLACE}`;
}

export function deploymentOf(pattern: string, pr: number): string {
  return pattern.replace(PLACE, String(pr));
}

/** The pull request of a deployment's name; `undefined`: the name does not match the pattern. */
export function pullRequestOf(pattern: string, deployment: string): number | undefined {
  const [before = '', after = ''] = pattern.split(PLACE);
  if (!deployment.startsWith(before) || !deployment.endsWith(after)) return undefined;
  const digits = deployment.slice(before.length, deployment.length - after.length);
  return /^[1-9]\d{0,8}$/u.test(digits) && deploymentOf(pattern, Number(digits)) === deployment
    ? Number(digits)
    : undefined;
}

/**
 * Those of a list that a preview of `slipway.yaml` makes: another file's may have the same name.
 * @param target - the target of one of them.
 * @param pattern - of their deployments' names.
 */
export function previewsOf<P extends Pick<PreviewSummary, 'pr'> & { readonly workflowId: string }>(
  previews: readonly P[],
  target: TargetSpec,
  pattern: string,
): readonly P[] {
  return previews.filter(
    ({ pr, workflowId }) =>
      workflowId === previewWorkflowId({ ...target, deployment: deploymentOf(pattern, pr) }),
  );
}
