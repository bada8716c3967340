import { CancellationScope, condition } from '@temporalio/workflow';

import { type StepOverrides } from '../domain/step.ts';
import { type TargetSpec } from '../domain/targetSpec.ts';
import { type LateRevision } from '../domain/targetState.ts';
import { explain } from './failure.ts';
import { activitiesOf } from './steps.ts';

/** How watching a revision ended. */
export interface WatchEnd {
  readonly late: LateRevision;
  /** It became the active revision. Otherwise it failed, its deadline passed, or it can no longer be read. */
  readonly cameUp: boolean;
  /** Why it is not watched any longer, where the outside did not say. */
  readonly problem?: string;
}

/**
 * Watches the revisions that were given up on and may still come up (design, rule 6), each until its deadline.
 *
 * @param interrupted - whether the target has something better to do; watching is taken up again afterwards.
 * @returns the first to end; `undefined` when interrupted.
 */
export async function watchLateRevisions(
  target: TargetSpec,
  revisions: readonly LateRevision[],
  overrides: StepOverrides,
  interrupted: () => boolean,
): Promise<WatchEnd | undefined> {
  const scope = new CancellationScope();
  try {
    return await scope.run(() =>
      Promise.race([
        condition(interrupted).then(() => undefined),
        ...revisions.map((late) => watch(target, late, overrides)),
      ]),
    );
  } finally {
    scope.cancel();
  }
}

async function watch(target: TargetSpec, late: LateRevision, overrides: StepOverrides): Promise<WatchEnd> {
  const scheduleToCloseMs = Date.parse(late.until) - Date.now();
  if (scheduleToCloseMs <= 0) return { late, cameUp: false };
  const { revisionId, deploymentId } = late;
  const untilThen = { ...overrides, watch: { ...overrides.watch, scheduleToCloseMs } };
  const activities = activitiesOf('watch', untilThen, `watch revision ${revisionId}`);
  try {
    const { cameUp } = await activities.awaitLateSuccess({ target, deploymentId, revisionId });
    return { late, cameUp };
  } catch (error) {
    const failure = explain(error);
    if (failure.canceled) throw error;
    return { late, cameUp: false, problem: failure.message };
  }
}
