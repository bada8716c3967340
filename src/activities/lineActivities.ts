import { Context } from '@temporalio/activity';
import { WithStartWorkflowOperation, WorkflowNotFoundError } from '@temporalio/client';

import { SlipwayError } from '../domain/errors.ts';
import { seeTarget, type TargetSeen } from '../domain/promotion/targetSeen.ts';
import type { ReleaseRequest } from '../domain/release.ts';
import type { DeploymentSnapshot } from '../domain/revision.ts';
import { targetStart } from '../domain/targetStart.ts';
import type { Lookup, ReleaseAnswer, RollbackAnswer } from '../domain/targetState.ts';
import { type TargetSpec, targetWorkflowId } from '../domain/targetSpec.ts';
import type { Activities } from './activities.ts';
import { askTemporal } from './askTemporal.ts';
import type { SeenTarget } from './earlierRuns.ts';
import type { Place } from './places.ts';
import type { PollUntil } from './polling.ts';
import type { Untracked } from './track.ts';

/** Reads a target's deployment, as the pipeline's own step `find` does. */
export type ReadDeployment = (target: TargetSpec) => Promise<DeploymentSnapshot | null>;

/**
 * What a promotion asks of targets, through Temporal: it never touches a deployment itself. Nothing in a workflow can
 * ask another one a question, so an activity does.
 */
export function lineActivities(
  readDeployment: ReadDeployment,
  pollUntil: PollUntil,
  place: Place,
): Untracked<
  Pick<
    Activities,
    'lookAtLine' | 'submitToTarget' | 'awaitRelease' | 'withdrawSubmission' | 'rollBackTarget' | 'holdTarget'
  >
> {
  const see = async (target: TargetSpec, asksControlPlane: boolean): Promise<TargetSeen> => {
    const deployment = asksControlPlane ? await readDeployment(target) : null;
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
      const answer = await updateWithStart<ReleaseAnswer>(request, 'submitRelease', request, submission);
      return { answer };
    },

    awaitRelease: async ({ target, id }) => {
      const row = await pollUntil('SLIPWAY_STEP_TIMED_OUT', async () => {
        await place.keep();
        const found = await lookUp(target, id);
        if (found === null)
          throw new SlipwayError('SLIPWAY_OUTCOME_UNKNOWN', `"${target.name}" does not know ${id}`);
        if (found.state === 'ended') return { found: found.row };
        return { insteadOf: found.state === 'queued' ? found.reason : `${found.releaseId} runs` };
      });
      await place.leave();
      return { row };
    },

    withdrawSubmission: async ({ target, recordStore, submission, by }) => {
      const message = { ...by, submission };
      const [releaseId] = await updateWithStart<readonly string[]>(
        { target, recordStore },
        'withdraw',
        message,
      );
      await place.leave();
      return { releaseId: releaseId ?? null };
    },

    rollBackTarget: async ({ target, message }) => ({
      answer: await update<RollbackAnswer>(target, 'rollback', message),
    }),

    holdTarget: async ({ target, by }) => ({ onHold: await update<boolean>(target, 'hold', by) }),
  };
}

async function viewTarget(target: TargetSpec): Promise<SeenTarget | null> {
  return askTemporal(async (client) => {
    try {
      const seen = await client.workflow.getHandle(targetWorkflowId(target)).query<SeenTarget>('view');
      if (seen.recovering === true) throw new Error(`"${target.name}" reads its earlier state`);
      return seen;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return null;
      throw error;
    }
  });
}

function lookUp(target: TargetSpec, id: string): Promise<Lookup | null> {
  return askTemporal((client) => client.workflow.getHandle(targetWorkflowId(target)).query('lookup', id));
}

function update<Answer>(target: TargetSpec, name: string, message: object): Promise<Answer> {
  return askTemporal((client) =>
    client.workflow
      .getHandle(targetWorkflowId(target))
      .executeUpdate<Answer, [object]>(name, { args: [message] }),
  );
}

/** Update-with-Start, as the command does it: a promotion may be a target's first release. */
function updateWithStart<Answer>(
  { target, recordStore }: Pick<ReleaseRequest, 'target' | 'recordStore'>,
  name: string,
  message: object,
  updateId?: string,
): Promise<Answer> {
  return askTemporal((client) =>
    client.workflow.executeUpdateWithStart<(input: object) => Promise<void>, Answer, [object]>(name, {
      args: [message],
      ...(updateId === undefined ? {} : { updateId }),
      startWorkflowOperation: new WithStartWorkflowOperation(
        'target',
        targetStart(target, recordStore, Context.current().info.taskQueue),
      ),
    }),
  );
}
