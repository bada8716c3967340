import { CancellationScope, condition } from '@temporalio/workflow';

import { type TargetSpec } from '../domain/targetSpec.ts';
import { type LateRevision } from '../domain/targetState.ts';
import { explain } from './failure.ts';
import { activitiesOf } from './steps.ts';

/** How watching ended: it became the active revision; it failed, or its deadline passed; or there is work to do. */
export type WatchEnd = 'came_up' | 'settled' | 'interrupted';

/**
 * Watches a revision that was given up on and may still come up (design, rule 6), until its deadline.
 *
 * @param interrupted - whether the target has something better to do; watching is taken up again afterwards.
 */
export async function watchLateRevision(
  target: TargetSpec,
  late: LateRevision,
  interrupted: () => boolean,
): Promise<WatchEnd> {
  const scheduleToCloseMs = Date.parse(late.until) - Date.now();
  if (scheduleToCloseMs <= 0) return 'settled';
  const { revisionId, deploymentId } = late;
  const scope = new CancellationScope();
  const watch = async (): Promise<WatchEnd> => {
    try {
      const activities = activitiesOf(
        'watch',
        { watch: { scheduleToCloseMs } },
        `watch revision ${revisionId}`,
      );
      const { cameUp } = await activities.awaitLateSuccess({ target, deploymentId, revisionId });
      return cameUp ? 'came_up' : 'settled';
    } catch (error) {
      return explain(error).canceled ? 'interrupted' : 'settled';
    }
  };
  const wait = async (): Promise<WatchEnd> => {
    try {
      await condition(interrupted);
    } catch (error) {
      if (!explain(error).canceled) throw error;
    }
    return 'interrupted';
  };
  try {
    return await scope.run(() => Promise.race([watch(), wait()]));
  } finally {
    scope.cancel();
  }
}
