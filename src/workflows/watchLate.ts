import { CancellationScope, condition, uuid4 } from '@temporalio/workflow';

import type { Activities } from '../activities/activities.ts';
import {
  counterLateRevision,
  forgetLateRevision,
  forgetUpload,
  landUpload,
} from '../domain/lateRevisions.ts';
import type { StepOverrides } from '../domain/step.ts';
import type { TargetSpec } from '../domain/targetSpec.ts';
import type { LateRevision, LateUpload, TargetState } from '../domain/targetState.ts';
import { explain } from './failure.ts';
import { now } from './journal.ts';
import { activitiesOf } from './steps.ts';

/** How watching one of them ended. */
export interface WatchEnd {
  /** What becomes of the target. */
  readonly after: (state: TargetState) => TargetState;
  /** Why it is not watched any longer, where the outside did not say. */
  readonly problem?: string;
}

/** Whether there is anything to watch. */
export function mayComeLate({ spec, late, lateUploads }: TargetState): boolean {
  return spec !== null && late.length + lateUploads.length > 0;
}

/**
 * Watches the revisions that were given up on and may still come up (design, rule 6), and the uploads whose PATCH went
 * unanswered and may still land, each until its deadline.
 *
 * @param interrupted - whether the target has something better to do; watching is taken up again afterwards.
 * @returns the first to end; `undefined` when interrupted.
 */
export async function watchLate(
  { spec, late, lateUploads }: TargetState,
  overrides: StepOverrides,
  interrupted: () => boolean,
): Promise<WatchEnd | undefined> {
  if (spec === null) return undefined;
  const scope = new CancellationScope();
  try {
    return await scope.run(() =>
      Promise.race([
        condition(interrupted).then(() => undefined),
        ...late.map((revision) => watchRevision(spec, revision, overrides)),
        ...lateUploads.map((upload) => watchUpload(spec, upload, overrides)),
      ]),
    );
  } finally {
    scope.cancel();
  }
}

async function watchRevision(
  target: TargetSpec,
  late: LateRevision,
  overrides: StepOverrides,
): Promise<WatchEnd> {
  const { revisionId, deploymentId } = late;
  const forget = (state: TargetState): TargetState => forgetLateRevision(state, late);
  const activities = watching(overrides, late.until, `watch revision ${revisionId}`);
  if (activities === undefined) return { after: forget };
  try {
    const { cameUp } = await activities.awaitLateSuccess({ target, deploymentId, revisionId });
    return { after: cameUp ? (state) => counterLateRevision(state, late, uuid4()) : forget };
  } catch (error) {
    const failure = explain(error);
    if (failure.canceled) throw error;
    // What is not there cannot come up: a rollback named it by mistake, or somebody has removed it.
    if (failure.code === 'SLIPWAY_NOT_FOUND') return { after: forget };
    return {
      after: forget,
      problem: `revision ${revisionId} is not watched any longer: ${failure.message}`,
    };
  }
}

async function watchUpload(
  target: TargetSpec,
  upload: LateUpload,
  overrides: StepOverrides,
): Promise<WatchEnd> {
  const { releaseId, objectPath, deploymentId, known } = upload;
  const forget = (state: TargetState): TargetState => forgetUpload(state, upload);
  const activities = watching(overrides, upload.until, `watch for a PATCH of ${releaseId} that lands late`);
  if (activities === undefined) return { after: forget };
  try {
    const { revisionId } = await activities.awaitLateUpload({ target, deploymentId, objectPath, known });
    return { after: (state) => landUpload(state, upload, revisionId, now()) };
  } catch (error) {
    const failure = explain(error);
    if (failure.canceled) throw error;
    // Nothing has landed by its deadline, as is to be hoped.
    if (failure.code === 'SLIPWAY_STEP_TIMED_OUT') return { after: forget };
    const problem = `it is not looked for a PATCH of ${releaseId} any longer: ${failure.message}`;
    return { after: forget, problem };
  }
}

/** The activities with a deadline; `undefined` where that has passed. */
function watching(overrides: StepOverrides, until: string, summary: string): Activities | undefined {
  const scheduleToCloseMs = Date.parse(until) - Date.now();
  if (scheduleToCloseMs <= 0) return undefined;
  return activitiesOf('watch', { ...overrides, watch: { ...overrides.watch, scheduleToCloseMs } }, summary);
}
