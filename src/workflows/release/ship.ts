import { CancellationScope, condition, workflowInfo } from '@temporalio/workflow';

import type { Activities } from '../../activities/activities.ts';
import { describeArtifact } from '../../domain/artifact/artifact.ts';
import type { DeploymentSnapshot } from '../../domain/deployment/revision.ts';
import { backoffMs } from '../../domain/step.ts';
import { stepPolicy } from '../../domain/stepTable.ts';
import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import { explain, pipelineFailure } from '../failure.ts';
import type { Journal } from '../journal.ts';
import { sendAtMostOnce } from '../sendAtMostOnce.ts';
import { activitiesOf } from '../steps.ts';
import { correctBaseline } from './baseline.ts';
import { awaitOurs, type Before, identifyOurs, latestIfOurs, type Ours, type Seen } from './ownRevision.ts';
import type { Run } from './run.ts';

/** Finds the target's deployment; `null` if there is none. */
export function findDeployment(journal: Journal, target: TargetSpec): Promise<DeploymentSnapshot | null> {
  return journal.step('find', target.deployment, async (activities) => {
    const { deployment, attempt } = await activities.findDeployment({ target });
    return { result: deployment, attempt, detail: deployment?.deploymentId ?? 'there is none yet' };
  });
}

/**
 * Finds the target's deployment, or creates it.
 * @returns the deployment, and whether this call created it.
 */
export async function findOrCreateDeployment(
  run: Run,
): Promise<{ readonly deployment: DeploymentSnapshot; readonly created: boolean }> {
  const found = await findDeployment(run.journal, run.request.target);
  const result = found === null ? await create(run) : { deployment: found, created: false };
  run.journal.note({ deploymentId: result.deployment.deploymentId });
  return result;
}

/** @returns the deployment, and whether an answer proves that we created it. If not, another client may have. */
async function create(
  run: Run,
): Promise<{ readonly deployment: DeploymentSnapshot; readonly created: boolean }> {
  const { journal, request, stopped, nextFreezeAt } = run;
  const { target, artifact, graphConfigPath } = request;
  // Names are unique on a control plane, so a deployment with this name is the requested one.
  const find = async () => (await readsOf(journal).findDeployment({ target })).deployment ?? undefined;
  let isConflict = false;
  return CancellationScope.nonCancellable(() =>
    journal.step('create', target.deployment, async (activities) => {
      const { result, answered, attempts } = await sendAtMostOnce({
        what: 'the request to create the deployment',
        send: async () => {
          try {
            return (await activities.createDeployment({ target, artifact, graphConfigPath })).deployment;
          } catch (error) {
            const { code, message } = explain(error);
            if (code !== 'SLIPWAY_CONFLICT') throw error;
            isConflict = true;
            const found = await find();
            if (found !== undefined) return found;
            const what = `no deployment "${target.deployment}" can be found`;
            const hint = `choose another name, or set targets.${target.name}.deploymentId`;
            throw pipelineFailure('SLIPWAY_CONFLICT', `${message}; ${what}: ${hint}`);
          }
        },
        settle: find,
        policy: stepPolicy('create', journal.overrides),
        onFailure: (found) => journal.note({ found }),
        abandoned: stopped,
        nextFreezeAt,
      }).catch((error: unknown) => {
        run.creationUnanswered ||= explain(error).mayHaveBeenTaken;
        throw error;
      });
      const deployment = artifact.kind === 'tarball' ? result : await withFirstRevision(run, result);
      const created = answered && !isConflict;
      return { result: { deployment, created }, attempt: attempts, detail: result.deploymentId };
    }),
  );
}

/**
 * Reads a new deployment until it names its first revision. That one carries the artifact, too: if it appeared only
 * after the PATCH, it could be taken for the release's own.
 */
async function withFirstRevision(
  { journal, request, stopped }: Run,
  created: DeploymentSnapshot,
): Promise<DeploymentSnapshot> {
  const { deploymentId } = created;
  const { retry } = stepPolicy('create', journal.overrides);
  let deployment = created;
  for (let looks = 1; deployment.latestRevisionId === null && looks <= LOOKS_FOR_FIRST; looks++) {
    if (await condition(stopped, backoffMs(retry, looks))) break;
    try {
      ({ deployment } = await readsOf(journal).readDeployment({ target: request.target, deploymentId }));
    } catch {
      // A replica may not know the deployment yet. If it is gone, the PATCH says so.
    }
  }
  return deployment;
}

/** How many times to look for the first revision of a new deployment. */
const LOOKS_FOR_FIRST = 5;

/**
 * Uploads the artifact, if it is a tarball. Its path is in the history before the PATCH is sent. It is unique to this
 * upload, so it identifies the revision that our PATCH makes.
 */
export async function upload(run: Run, deploymentId: string): Promise<void> {
  const { artifact, target } = run.request;
  if (artifact.kind !== 'tarball') return;
  const name = describeArtifact(artifact);
  run.objectPath = await run.journal.step('upload', name, async (activities) => {
    const { objectPath, attempt } = await activities.uploadArtifact({ target, deploymentId, artifact });
    return { result: objectPath, attempt, detail: `${artifact.sizeBytes} bytes` };
  });
}

/**
 * PATCHes the deployment to the artifact, which creates the release's revision. It creates at most one: after an
 * unknown answer, a revision that carries our upload path is adopted.
 * @param sentBefore - whether an earlier try of this step ended without an answer. If so, it reads before it sends.
 * @returns the release's revision.
 */
export async function patch(run: Run, before: Before, sentBefore: boolean): Promise<string> {
  const { journal, request, objectPath, stopped, nextFreezeAt } = run;
  const { target, artifact, graphConfigPath } = request;
  const { deploymentId } = before.deployment;
  const noteServing = ({ activeRevisionId: serves }: DeploymentSnapshot): void => {
    if (serves !== before.deployment.activeRevisionId) correctBaseline(run, serves);
  };
  return CancellationScope.nonCancellable(() =>
    journal.step('patch', undefined, async (activities) => {
      const reads = readsOf(journal);
      const identify = (seen: Seen) => identifyOurs(reads, request, before, objectPath, seen);
      const findOurs = async (isAnswered: boolean) => {
        const { deployment } = await reads.readDeployment({ target, deploymentId });
        noteServing(deployment);
        const named = latestIfOurs(deployment, request, before, objectPath);
        return identify({ latest: deployment.latestRevisionId, named, isAnswered });
      };
      const policy = stepPolicy('patch', journal.overrides);
      const { result, answered, attempts, unknownAnswers } = await sendAtMostOnce<string | null>({
        what: 'the PATCH',
        send: async () => {
          const { runId } = workflowInfo();
          const input = { target, deploymentId, artifact, objectPath, graphConfigPath, runId };
          const { deployment } = await activities.patchDeployment(input);
          noteServing(deployment);
          return latestIfOurs(deployment, request, before, objectPath);
        },
        settle: () => findOurs(false),
        policy,
        onFailure: (found) => journal.note({ found }),
        abandoned: stopped,
        nextFreezeAt,
        sentBefore,
        isNew: before.created,
      });
      // An answered PATCH has made a revision and is never sent again: reads show it now or soon. A release that was
      // asked to stop does not wait for this proof.
      const proof = (named: string): Promise<Ours> =>
        Promise.race([
          identify({ latest: named, named, isAnswered: true }),
          condition(stopped).then(() => named),
        ]);
      const first = answered && result !== null ? [() => proof(result)] : [];
      const revisionId =
        !answered && result !== null ? result : await awaitOurs(first, () => findOurs(true), policy, stopped);
      journal.note({ revisionId });
      run.ambiguous = unknownAnswers > 0;
      return {
        result: revisionId,
        attempt: attempts,
        detail: answered ? `revision ${revisionId}` : `adopted revision ${revisionId}`,
      };
    }),
  );
}

/**
 * Finds revisions that the PATCH made beside the one that was followed: they carry our upload path (design, rule 2). A
 * request that timed out can be applied late, and an answered one may have been delivered twice. If the control plane
 * cannot be read, the release does not fail.
 */
export async function findExtraRevisions(run: Run): Promise<readonly string[]> {
  const { undoPatch, deploymentId, objectPath, revisionId: followed, baseline, request, journal } = run;
  if (undoPatch === null || objectPath === null || deploymentId === null) return [];
  try {
    const since = baseline?.revisionId ?? null;
    const input = { target: request.target, deploymentId, since };
    const { revisions } = await readsOf(journal).listRevisions(input);
    // Some control planes do not list upload paths.
    return (revisions ?? [])
      .filter(({ tarballPath, revisionId }) => tarballPath === objectPath && revisionId !== followed)
      .map(({ revisionId }) => revisionId);
  } catch (error) {
    journal.note({ phase: `could not look for extra revisions: ${explain(error).message}` });
    return [];
  }
}

/** Reads during a step that changes the deployment, with the deadlines and retries of the `find` step. */
function readsOf(journal: Journal): Activities {
  return activitiesOf('find', journal.overrides, 'read its result');
}
