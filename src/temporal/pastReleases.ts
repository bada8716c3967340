import type { WorkFact } from '../domain/audit/facts.ts';
import { SlipwayError } from '../domain/errors.ts';
import { type PastRelease, pastOfRow, pastOfWork } from '../domain/pastRelease.ts';
import { fetchHistories, fetchHistory } from './audit/fetchHistories.ts';
import { readTargetFacts } from './audit/readFacts.ts';
import type { TemporalConnection } from './connection.ts';
import { viewTarget } from './targetClient.ts';
import { temporalError } from './temporalError.ts';

/** A target's past, newest first. */
export interface Past {
  readonly releases: readonly PastRelease[];
  /** `target`: by its own word. `histories`: no worker answers; what never started is not among them. */
  readonly from: 'target' | 'histories';
}

/**
 * The releases and rollbacks of a target, newest first, with the one that runs: by the word of the target, or, where no
 * worker answers, from the histories that Temporal keeps.
 *
 * @param workflowId - the target's.
 * @returns `undefined` where the target has never taken a release.
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function pastReleases(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<Past | undefined> {
  try {
    const view = await viewTarget(temporal, workflowId);
    if (view === undefined) return undefined;
    const running = view.running === null ? undefined : await findWork(temporal, view.running.workflowId);
    const ended = view.state.history.map(pastOfRow).reverse();
    return { releases: [...(running === undefined ? [] : [pastOfWork(running)]), ...ended], from: 'target' };
  } catch (error) {
    if (!(error instanceof SlipwayError) || error.code !== 'SLIPWAY_NO_WORKER') throw error;
  }
  const { works } = readTargetFacts(workflowId, await fetchHistories(temporal, workflowId));
  return { releases: works.map(pastOfWork).reverse(), from: 'histories' };
}

/**
 * One release or rollback, from its own history.
 *
 * @param workflowId - its own.
 * @returns `undefined` where Temporal has none (any more).
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function findWork(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<WorkFact | undefined> {
  try {
    const history = await fetchHistory(temporal, workflowId);
    if (history === undefined) return undefined;
    const targetId = workflowId.slice(0, workflowId.lastIndexOf('/'));
    return readTargetFacts(targetId, [{ workflowId, history }]).works[0];
  } catch (error) {
    throw temporalError(error, temporal.settings);
  }
}
