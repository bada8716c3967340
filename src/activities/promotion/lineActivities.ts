import { Context } from '@temporalio/activity';
import {
  type Client,
  WithStartWorkflowOperation,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client';

import { SlipwayError } from '../../domain/errors.ts';
import { seeTarget, type TargetSeen } from '../../domain/promotion/candidate.ts';
import type { ReleaseRequest } from '../../domain/release/release.ts';
import { type TargetSpec, targetWorkflowId } from '../../domain/target/targetSpec.ts';
import type { HistoryRow } from '../../domain/target/targetState.ts';
import {
  holdUpdate,
  lookupQuery,
  rollbackUpdate,
  submitReleaseUpdate,
  targetStart,
  type TargetView,
  viewQuery,
  withdrawUpdate,
} from '../../messages/target.ts';
import { type TargetWorkflow, WORKFLOW_TYPES } from '../../messages/workflowTypes.ts';
import { traceField } from '../../traces/trace.ts';
import type { Activities } from '../activities.ts';
import { askTemporal } from '../askTemporal.ts';
import type { PollUntil } from '../polling.ts';
import type { Untracked } from '../track.ts';
import type { Place } from './places.ts';

/**
 * A promotion's calls to targets through Temporal. It never calls a deployment itself. These are activities, because
 * a workflow can send no query or update to another one.
 */
export function lineActivities(
  { findDeployment }: Untracked<Pick<Activities, 'findDeployment'>>,
  pollUntil: PollUntil,
  place: Place,
): Untracked<
  Pick<
    Activities,
    'lookAtLine' | 'submitToTarget' | 'awaitRelease' | 'withdrawSubmission' | 'rollBackTarget' | 'holdTarget'
  >
> {
  const see = async (target: TargetSpec, asksControlPlane: boolean): Promise<TargetSeen> => {
    const deployment = asksControlPlane ? (await findDeployment({ target })).deployment : null;
    return seeTarget(target.name, await viewTarget(target), deployment, target.agentUrl);
  };
  return {
    lookAtLine: async ({ from, to, downstream }) => ({
      line: {
        from: await see(from, true),
        to: await see(to, true),
        downstream: await Promise.all(downstream.map((target) => see(target, false))),
      },
    }),

    submitToTarget: async ({ request, submission }) => {
      await place.take();
      // The release joins the trace of its promotion.
      const traced = { ...request, ...traceField() };
      const answer = await askTemporal((client) =>
        client.workflow.executeUpdateWithStart(submitReleaseUpdate, {
          args: [traced],
          updateId: submission,
          startWorkflowOperation: startTarget(request),
        }),
      );
      return { answer };
    },

    awaitRelease: async ({ target, id }) => {
      const row = await pollUntil<HistoryRow>('SLIPWAY_STEP_TIMED_OUT', async () => {
        await place.keep();
        const found = await askTemporal((client) => targetHandle(client, target).query(lookupQuery, id));
        if (found === null)
          throw new SlipwayError('SLIPWAY_OUTCOME_UNKNOWN', `"${target.name}" does not know ${id}`);
        if (found.state === 'ended') return { found: found.row };
        return { insteadOf: found.state === 'queued' ? found.reason : `${found.releaseId} runs` };
      });
      await place.leave();
      return { row };
    },

    withdrawSubmission: async ({ target, recordStore, submission, by }) => {
      const [releaseId] = await askTemporal((client) =>
        client.workflow.executeUpdateWithStart(withdrawUpdate, {
          args: [{ ...by, submission }],
          startWorkflowOperation: startTarget({ target, recordStore }),
        }),
      );
      await place.leave();
      return { releaseId: releaseId ?? null };
    },

    rollBackTarget: async ({ target, message }) => ({
      answer: await askTemporal((client) =>
        targetHandle(client, target).executeUpdate(rollbackUpdate, { args: [message] }),
      ),
    }),

    holdTarget: async ({ target, by }) => ({
      onHold: await askTemporal((client) =>
        targetHandle(client, target).executeUpdate(holdUpdate, { args: [by] }),
      ),
    }),
  };
}

async function viewTarget(target: TargetSpec): Promise<TargetView | null> {
  return askTemporal(async (client) => {
    try {
      const seen = await targetHandle(client, target).query(viewQuery);
      if (seen.recovering === true) throw new Error(`"${target.name}" reads its earlier state`);
      return seen;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return null;
      throw error;
    }
  });
}

function targetHandle(client: Client, target: TargetSpec): WorkflowHandle {
  return client.workflow.getHandle(targetWorkflowId(target));
}

/** Update-with-Start also starts a new target, because a promotion may be its first release. */
function startTarget({ target, recordStore }: Pick<ReleaseRequest, 'target' | 'recordStore'>) {
  return new WithStartWorkflowOperation<TargetWorkflow>(
    WORKFLOW_TYPES.target,
    targetStart(target, recordStore, Context.current().info.taskQueue),
  );
}
