import pLimit from 'p-limit';

import type { SlipwayError } from '../../../domain/errors.ts';
import { pastOfWork, type PastRelease } from '../../../domain/release/pastRelease.ts';
import type { TargetView } from '../../../messages/target.ts';
import { readKeptTarget } from '../../history/keptTarget.ts';
import type { TemporalConnection } from '../connection.ts';
import { type ListedTarget, listTargets } from '../target/listTargets.ts';
import { isUnanswered, queryTarget } from '../target/targetClient.ts';
import { ifSealed } from '../temporalError.ts';
import { requireWorker } from '../workerPresence.ts';
import { releasesOf } from './pastReleases.ts';

export interface TargetHistory extends ListedTarget {
  readonly releases: readonly PastRelease[];
  /** Where the records of older releases are; `null` if there are none, or if that is not known. */
  readonly olderIn: string | null;
  readonly deploymentId: string | null;
  /** Why the target did not answer: then the releases are the newest that Temporal keeps. `null`: it did. */
  readonly unanswered: SlipwayError | null;
}

const AT_ONCE = 16;
/** How many releases of a target that does not answer to read from Temporal. */
const KEPT_READ = 10;

/**
 * The past of all targets, from their workflows: one query each, and one more if something runs.
 * @param knownView - a target's current view, if known: then it is not queried.
 */
export async function targetHistories(
  temporal: TemporalConnection,
  knownView: (workflowId: string) => TargetView | undefined,
): Promise<readonly TargetHistory[]> {
  const [targets, silent] = await Promise.all([listTargets(temporal), whyNoWorker(temporal)]);
  return pLimit(AT_ONCE).map(targets, (target) =>
    historyOf(temporal, target, knownView(target.workflowId), silent),
  );
}

async function historyOf(
  temporal: TemporalConnection,
  target: ListedTarget,
  known: TargetView | undefined,
  silent: SlipwayError | undefined,
): Promise<TargetHistory> {
  try {
    if (silent !== undefined) throw silent;
    const view = known ?? (await queryTarget(temporal, target.workflowId));
    if (view === undefined) return { ...target, ...NOTHING };
    return {
      workflowId: target.workflowId,
      name: view.state.spec?.name ?? target.name,
      releases: await releasesOf(temporal, view),
      olderIn: hasOlder(view) ? (view.state.lastRequest?.recordStore ?? null) : null,
      deploymentId: view.state.owns ?? null,
      unanswered: null,
    };
  } catch (error) {
    if (!isUnanswered(error)) throw error;
    // A target whose payload key is not here must not hide the others.
    const kept = await readKeptTarget(temporal, target.workflowId, KEPT_READ).catch(
      ifSealed(() => undefined),
    );
    const releases = [...(kept?.ended ?? []), ...(kept?.running == null ? [] : [pastOfWork(kept.running)])];
    return { ...target, ...NOTHING, releases: releases.reverse(), unanswered: error };
  }
}

const NOTHING = { releases: [], olderIn: null, deploymentId: null, unanswered: null } as const;

/** Whether a target had more releases and rollbacks than its bounded history shows. The numbers tell. */
function hasOlder({ state, running }: TargetView): boolean {
  const { nextNumber, history, queue } = state;
  return history.length + queue.length + (running === null ? 0 : 1) < nextNumber - 1;
}

async function whyNoWorker(temporal: TemporalConnection): Promise<SlipwayError | undefined> {
  try {
    // Without one, Temporal itself has the newest releases.
    await requireWorker(temporal, 0);
    return undefined;
  } catch (error) {
    if (isUnanswered(error)) return error;
    throw error;
  }
}
