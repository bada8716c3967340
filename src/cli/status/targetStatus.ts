import type { Progress } from '../../domain/release.ts';
import type { TemporalConnection } from '../../temporal/connection.ts';
import { readProgress, viewTarget } from '../../temporal/targetClient.ts';
import { workflowPage } from '../../temporal/temporalSettings.ts';
import { type LocalHold, readLocalHold } from '../rollback/localHold.ts';

/** Everything that is known of a target. */
export interface TargetStatus {
  readonly target: string;
  readonly workflowId: string;
  readonly workflowUrl: string | null;
  /** `undefined` where the target has never taken a release. */
  readonly view: Awaited<ReturnType<typeof viewTarget>>;
  /** What runs, where it answers. */
  readonly progress: Progress | undefined;
  readonly localHold: LocalHold | undefined;
}

/**
 * Asks for everything that is known of a target.
 *
 * @param home - where holds of this machine are kept.
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE, SLIPWAY_NO_WORKER.
 */
export async function targetStatus(
  home: string,
  temporal: TemporalConnection,
  target: string,
  workflowId: string,
): Promise<TargetStatus> {
  const localHold = await readLocalHold(home, target);
  const view = await viewTarget(temporal, workflowId);
  const progress = view?.running == null ? undefined : await readProgress(temporal, view.running.workflowId);
  const workflowUrl = view === undefined ? null : workflowPage(temporal.settings, workflowId);
  return { target, workflowId, workflowUrl, view, progress, localHold };
}
