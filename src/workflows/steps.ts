import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';

import type { Activities } from '../activities/activities.ts';
import type { StepName, StepOverrides } from '../domain/step.ts';
import { stepPolicy, type StepRow, STEPS } from '../domain/stepTable.ts';

export { patiently, stepPolicy } from '../domain/stepTable.ts';

/**
 * The activities under a step's options.
 *
 * @param summary - one line that Temporal's own UI shows beside the activity.
 */
export function activitiesOf(step: StepName, overrides: StepOverrides, summary: string): Activities {
  const { cancellation, retriedBy } = STEPS[step];
  const policy = stepPolicy(step, overrides);
  return proxyActivities<Activities>({
    summary: shortSummary(summary),
    startToCloseTimeout: policy.startToCloseMs,
    scheduleToCloseTimeout: policy.scheduleToCloseMs,
    ...(policy.heartbeatMs === undefined ? {} : { heartbeatTimeout: policy.heartbeatMs }),
    cancellationType: ActivityCancellationType[cancellation],
    retry: {
      initialInterval: policy.retry.initialIntervalMs,
      backoffCoefficient: policy.retry.backoffCoefficient,
      maximumInterval: policy.retry.maximumIntervalMs,
      ...retryAttempts(retriedBy, policy.retry.maximumAttempts),
    },
  });
}

function retryAttempts(
  retriedBy: StepRow['retriedBy'],
  maximumAttempts: number,
): { maximumAttempts?: number } {
  if (retriedBy === 'once') return { maximumAttempts: 1 };
  return maximumAttempts === 0 ? {} : { maximumAttempts };
}

/** Temporal allows a summary 400 bytes (not every server holds to it); a character takes at most three. */
const SUMMARY_MAX_CHARACTERS = 120;

/** A summary that the server takes, whatever a check or a deployment is called. */
export function shortSummary(text: string): string {
  return text.slice(0, SUMMARY_MAX_CHARACTERS);
}
