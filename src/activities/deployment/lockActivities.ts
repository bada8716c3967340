import { Context } from '@temporalio/activity';
import { type Client, WorkflowClient, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';

import { SlipwayError } from '../../domain/errors.ts';
import { targetWorkflowId } from '../../domain/target/targetSpec.ts';
import { ID_PREFIXES, WORKFLOW_TASK_TIMEOUT_MS, WORKFLOW_TYPES } from '../../messages/workflowTypes.ts';
import type { Activities } from '../activities.ts';
import { askTemporal, ifThere } from '../askTemporal.ts';
import { runningWork } from '../target/earlierRuns.ts';
import type { Untracked } from '../track.ts';

/** The lock of a deployment: a workflow whose memo names its owner. The target that starts it owns it. */
export function lockActivities(): Untracked<Pick<Activities, 'claimDeployment'>> {
  return {
    claimDeployment: async ({ target, deploymentId }) => {
      const workflowId = lockId(deploymentId);
      const claimant = targetWorkflowId(target);
      return askTemporal(async (client) => {
        let reuse: 'REJECT_DUPLICATE' | 'ALLOW_DUPLICATE' = 'REJECT_DUPLICATE';
        while (!(await start(client, { workflowId, reuse, owner: claimant, name: target.name }))) {
          const lock = await lastRun(client, workflowId);
          const isOpen = lock?.status.name === 'RUNNING';
          const owner = lock === undefined ? claimant : String(lock.memo?.['owner']);
          if (isOpen && owner === claimant) return {};
          // The owner of a lock that a person has ended does not know it, and releases without a new claim.
          if (owner !== claimant && (await lives(client, owner)))
            throw owned(deploymentId, owner, String(lock?.memo?.['name']));
          if (isOpen) await end(client, workflowId, lock.runId, 'its owner does not run any more');
          reuse = 'ALLOW_DUPLICATE';
        }
        return {};
      });
    },
  };
}

function lockId(deploymentId: string): string {
  return `${ID_PREFIXES.deployment}${deploymentId}`;
}

/** The start delay of a lock. Its first workflow task never comes, because it would only occupy a worker's cache. */
const NEVER = '100 years';

/**
 * Starts the lock without encryption: it lives as long as the deployment, and so would its payload key. Its memo has
 * only ids, which are readable anyway.
 * @returns whether it was started. Temporal runs at most one workflow with an id.
 */
async function start(
  client: Client,
  lock: {
    readonly workflowId: string;
    /** Whether to start one although an earlier one has ended. */
    readonly reuse: 'REJECT_DUPLICATE' | 'ALLOW_DUPLICATE';
    readonly owner: string;
    readonly name: string;
  },
): Promise<boolean> {
  const { workflowId, reuse, owner, name } = lock;
  const { connection, options } = client;
  const { namespace, identity } = options;
  try {
    await new WorkflowClient({ connection, namespace, identity }).start(WORKFLOW_TYPES.deployment, {
      workflowId,
      taskQueue: Context.current().info.taskQueue,
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
      args: [],
      memo: { owner, name },
      workflowIdConflictPolicy: 'FAIL',
      workflowIdReusePolicy: reuse,
      startDelay: NEVER,
      staticSummary: `owned by target ${name}`,
      staticDetails: owner,
    });
    return true;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw error;
  }
}

function lastRun(client: Client, workflowId: string) {
  return ifThere(client.workflow.getHandle(workflowId).describe());
}

/** The open run of a workflow id; `undefined` if there is none. */
export async function openRun(client: Client, workflowId: string) {
  const description = await lastRun(client, workflowId);
  return description?.status.name === 'RUNNING' ? description : undefined;
}

/** Releases the lock of a deployment where that target owns it. */
export async function releaseLock(client: Client, deploymentId: string, targetId: string): Promise<void> {
  const workflowId = lockId(deploymentId);
  const lock = await openRun(client, workflowId);
  if (lock?.memo?.['owner'] === targetId)
    await end(client, workflowId, lock.runId, 'its deployment was removed');
}

/** A terminated target may have left a release that is still restoring what it changed. */
async function lives(client: Client, targetId: string): Promise<boolean> {
  return (
    (await openRun(client, targetId)) !== undefined || (await runningWork(client, targetId)) !== undefined
  );
}

/** Terminates only the run that was read: of two targets that take over, one ends it and one starts the next. */
async function end(client: Client, workflowId: string, runId: string, reason: string): Promise<void> {
  await ifThere(client.workflow.getHandle(workflowId, runId).terminate(reason));
}

function owned(deploymentId: string, owner: string, name: string): SlipwayError {
  return new SlipwayError(
    'SLIPWAY_DEPLOYMENT_OWNED',
    `the deployment ${deploymentId} belongs to the target "${name}" (${owner})`,
    {
      hint:
        `release through that target, or give both targets one controlPlaneId; if you no longer use that target, terminate it: ` +
        `temporal workflow terminate --workflow-id ${JSON.stringify(owner)}`,
    },
  );
}
