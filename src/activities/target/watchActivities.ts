import type { DeploymentSnapshot } from '../../domain/deployment/revision.ts';
import { SlipwayError } from '../../domain/errors.ts';
import type { Activities, DeploymentInput } from '../activities.ts';
import { notYet } from '../activityFailure.ts';
import { reportProgress } from '../heartbeat.ts';
import type { Untracked } from '../track.ts';

/** What watching needs of the other activities. */
export interface WatchDependencies {
  readonly readDeployment: (input: DeploymentInput) => Promise<{ readonly deployment: DeploymentSnapshot }>;
  readonly listRevisions: Untracked<Pick<Activities, 'listRevisions'>>['listRevisions'];
  readonly runCheck: Untracked<Pick<Activities, 'runCheck'>>['runCheck'];
  /** What time it is where the watching is counted, in milliseconds since 1970. Default: this process's clock. */
  readonly now?: () => Promise<number>;
  /** How often it is looked for what may land late, which serves for no longer before it is noticed. Default: 10 s. */
  readonly lookEveryMs?: number | undefined;
}

/** Watches for a long time, at the price of one activity. */
export function watchActivities({
  readDeployment,
  listRevisions,
  runCheck,
  now = () => Promise.resolve(Date.now()),
  lookEveryMs = 10_000,
}: WatchDependencies): Untracked<Pick<Activities, 'watchRevision' | 'awaitLateUpload'>> {
  return {
    /** One attempt looks once, as below. Where the control plane offers no list, the newest revision is all there is to see. */
    async awaitLateUpload({ target, deploymentId, objectPath, known, until }) {
      const left = Date.parse(until) - (await now());
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

    /**
     * One attempt looks once and runs the checks once; then it ends "not yet", and Temporal tries again when it is time
     * for the next round: no slot is held in between, and a retry adds no event to the history.
     */
    async watchRevision({ checks, until, everyMs, agentUrl, store, ...revision }) {
      const roundBegan = await now();
      const { target, deploymentId, revisionId } = revision;
      const { deployment } = await readDeployment({ target, deploymentId });
      if (deployment.activeRevisionId !== revisionId) {
        const instead = deployment.activeRevisionId ?? 'none';
        throw new SlipwayError(
          'SLIPWAY_REVISION_REPLACED',
          `revision ${instead} serves instead of ${revisionId}`,
        );
      }
      for (const check of checks) {
        const { verdict } = await runCheck({ ...revision, agentUrl, store, check });
        if (!verdict.passed) return { failed: verdict };
      }
      const left = until - roundBegan;
      if (left <= 0) return { failed: null };
      reportProgress(`revision ${revisionId} serves and passed its checks`);
      throw notYet('SLIPWAY_STEP_TIMED_OUT', `watched for ${left} ms still`, Math.min(left, everyMs));
    },
  };

  async function newestOf(input: DeploymentInput): Promise<Newest> {
    const { deployment } = await readDeployment(input);
    return { revisionId: deployment.latestRevisionId, tarballPath: deployment.latestTarballPath };
  }
}

/** The newest revision, as its deployment names it; `null` if there is none. */
interface Newest {
  readonly revisionId: string | null;
  readonly tarballPath: string | null;
}
