import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';

import { budgetLeft } from '../../domain/check/budget.ts';
import type { DeploymentSnapshot } from '../../domain/deployment/revision.ts';
import { SlipwayError } from '../../domain/errors.ts';
import { failureDetail, PASSING } from '../../domain/failure.ts';
import { STEPS } from '../../domain/stepTable.ts';
import type { Activities, DeploymentInput } from '../activities.ts';
import { notYet } from '../activityFailure.ts';
import { knownSoFar, reportProgress } from '../heartbeat.ts';
import { type Clock, temporalTime } from '../temporalTime.ts';
import type { Untracked } from '../track.ts';

/** The other activities that watching needs. */
export interface WatchDependencies {
  readonly readDeployment: (input: DeploymentInput) => Promise<{ readonly deployment: DeploymentSnapshot }>;
  readonly listRevisions: Untracked<Pick<Activities, 'listRevisions'>>['listRevisions'];
  readonly runCheck: Untracked<Pick<Activities, 'runCheck'>>['runCheck'];
  /** Default: {@link temporalTime}. */
  readonly now?: Clock | undefined;
  /** How often to look for a late revision, which serves unnoticed for at most this time. Default: 10 s. */
  readonly lookEveryMs?: number | undefined;
}

/** Watches for a long time with one activity. */
export function watchActivities({
  readDeployment,
  listRevisions,
  runCheck,
  now = temporalTime,
  lookEveryMs = 10_000,
}: WatchDependencies): Untracked<Pick<Activities, 'watchRevision' | 'awaitLateUpload'>> {
  return {
    /** Each attempt reads once, as below. If the control plane offers no list, it reads only the newest revision. */
    async awaitLateUpload({ target, deploymentId, objectPath, known, until }) {
      const left = Date.parse(until) - (await now(Date.parse(until)));
      const { revisions } = await listRevisions({ target, deploymentId });
      const seen = revisions ?? [await newestOf({ target, deploymentId })];
      const landed = seen.find(
        ({ revisionId, tarballPath }) =>
          tarballPath === objectPath && revisionId !== null && !known.includes(revisionId),
      )?.revisionId;
      if (landed == null && left > 0) {
        const pauseMs = Math.min(left, lookEveryMs);
        throw notYet('SLIPWAY_STEP_TIMED_OUT', `no further revision carries ${objectPath}`, pauseMs);
      }
      return { revisionId: landed ?? null };
    },

    /** Each attempt is one round, and ends as "not yet": no slot is held in between, and no event is added. */
    async watchRevision({ checks, budget, until, everyMs, agentUrl, store, ...revision }) {
      const roundBegan = await now(until);
      const { target, deploymentId, revisionId } = revision;
      const { deployment } = await readDeployment({ target, deploymentId });
      if (deployment.activeRevisionId !== revisionId) {
        const instead = deployment.activeRevisionId ?? 'none';
        throw new SlipwayError(
          'SLIPWAY_REVISION_REPLACED',
          `revision ${instead} serves instead of ${revisionId}`,
        );
      }
      let left = budget;
      for (const check of checks) {
        const { verdict, spent } = await runCheck({
          ...revision,
          agentUrl,
          store,
          check,
          budget: left,
        }).catch((error: unknown) => {
          throw finalIfLasting(error);
        });
        if (left !== undefined && spent !== undefined) left = budgetLeft(left, spent);
        // Rows that are not enough to tell are no reason to take back what serves.
        if (!verdict.passed && verdict.dataset?.decision !== 'undecided') return { failed: verdict };
      }
      const leftMs = until - roundBegan;
      if (leftMs <= 0) return { failed: null };
      reportProgress(`revision ${revisionId} serves and passed its checks`);
      throw notYet('SLIPWAY_STEP_TIMED_OUT', `watched for ${leftMs} ms still`, Math.min(leftMs, everyMs));
    },
  };

  /** The newest revision, as its deployment names it; `null` if there is none. */
  async function newestOf(input: DeploymentInput) {
    const { deployment } = await readDeployment(input);
    return { revisionId: deployment.latestRevisionId, tarballPath: deployment.latestTarballPath };
  }
}

/**
 * Makes a failure final if the agent has not answered, or an evaluator has given no score, in as many rounds as a check has
 * attempts: a watch may last for days. The control plane's silence says nothing about the revision, and is waited for.
 */
function finalIfLasting(error: unknown): unknown {
  if (!(error instanceof ApplicationFailure) || error.category === ApplicationFailureCategory.BENIGN)
    return error;
  const detail = failureDetail(error.details);
  if (detail === undefined || !(PASSING.has(detail.code) || detail.code === 'SLIPWAY_EVALUATOR_FAILED'))
    return error;
  const { unanswered: before = 0 } = (knownSoFar() ?? {}) as { readonly unanswered?: number };
  const unanswered = before + 1;
  if (unanswered >= STEPS.check.retry.maximumAttempts)
    return ApplicationFailure.nonRetryable(error.message, error.type, detail);
  reportProgress(error.message, { unanswered });
  return error.nonRetryable === true
    ? ApplicationFailure.retryable(error.message, error.type, detail)
    : error;
}
