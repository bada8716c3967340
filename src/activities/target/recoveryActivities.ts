import { status } from '@grpc/grpc-js';
import { errorText } from '@slipway/contract/codedError';
import { Context } from '@temporalio/activity';
import { type Client, isGrpcServiceError, ServiceError, WorkflowFailedError } from '@temporalio/client';

import { type ArtifactStore, readTargetRecord, targetRecordName } from '../../artifact/artifactStore.ts';
import { SlipwayError } from '../../domain/errors.ts';
import { takeReport } from '../../domain/guard/targetGuard.ts';
import { exactText } from '../../domain/scalars.ts';
import type { ReleaseResult, RollbackRequest } from '../../domain/release/release.ts';
import { endUnstarted } from '../../domain/target/targetQueue.ts';
import {
  EMPTY_TARGET,
  ignoreMessage,
  type Kept,
  type NextWork,
  type TargetState,
} from '../../domain/target/targetState.ts';
import { workflowResult } from '../../domain/workflowResult.ts';
import { type TargetView, viewQuery } from '../../messages/target.ts';
import type { GuardInput, GuardResult } from '../../messages/workflowTypes.ts';
import type { Activities } from '../activities.ts';
import { askTemporal, ifThere } from '../askTemporal.ts';
import { callingWorkflow } from '../callingWorkflow.ts';
import type { PollUntil } from '../polling.ts';
import type { Untracked } from '../track.ts';
import {
  earlierRuns,
  listWork,
  neverBegan,
  readWork,
  runningWork,
  startInput,
  type TargetRun,
} from './earlierRuns.ts';

type RecordStore = Pick<ArtifactStore, 'putRecord' | 'getRecord'>;

/** What an earlier run left: its state, and the work that is still running. */
interface Left {
  readonly state: TargetState | null;
  readonly work: NextWork | null;
  /** The signaled rollbacks that it had not answered. */
  readonly signaled?: readonly RollbackRequest[] | undefined;
}

/** The share of an attempt for a query to one earlier run, which a worker must replay first. */
const QUERY_PART = 1 / 3;
/** From this attempt on, a run that rejects the query counts as unable to answer. */
const BELIEVED_REFUSAL = 2;
/** From this attempt on (about two minutes), a run without a worker's answer counts as unable to answer. */
const BELIEVED_SILENCE = 4;
const SILENT: ReadonlySet<number> = new Set([status.CANCELLED, status.DEADLINE_EXCEEDED, status.UNAVAILABLE]);

/** Recovers the state of a target: from Temporal if a worker can replay the earlier run, else from its records. */
export function recoveryActivities(
  openStore: (url: string) => RecordStore,
  pollUntil: PollUntil,
): Untracked<Pick<Activities, 'recallTarget' | 'keepTarget' | 'awaitWork'>> {
  /** Whether the store has no state of a target. */
  const isNew = async (store: string | null, workflowId: string): Promise<boolean> =>
    store !== null && (await readKept(openStore(store), workflowId)) === undefined;
  return {
    recallTarget: async ({ recordStore, afresh }) => {
      const { workflowId, runId } = callingWorkflow();
      const recall = async (client: Client): Promise<Left> => {
        if (afresh) return leftInTemporal(client, workflowId, EMPTY_TARGET);
        const runs = await pollUntil<readonly TargetRun[] | null>('SLIPWAY_TARGET_UNREADABLE', async () => {
          const { runs: found, isBehind } = await earlierRuns(client, workflowId, runId);
          if (!isBehind) return { found };
          // A new target does not wait for the list.
          if (found.length === 0 && (await isNew(recordStore, workflowId))) return { found: null };
          return { insteadOf: 'Temporal’s list of workflows is behind' };
        });
        if (runs === null) return { state: null, work: null };
        const asked = await askRuns(client, workflowId, runs);
        if ('left' in asked) return asked.left;
        const store = recordStore ?? (await storeOf(client, workflowId, runs));
        const kept = store === null ? undefined : await readKept(openStore(store), workflowId);
        if (kept !== undefined) {
          const left = await leftInTemporal(client, workflowId, kept.state);
          return asked.problem === null
            ? left
            : { ...left, state: noteOld(left.state, kept.at, asked.problem) };
        }
        if (asked.problem === null) return { state: null, work: null };
        const where = store ?? 'which is not known';
        throw unreadable(`${asked.problem}, and the record store (${where}) has no state of it`);
      };
      return askTemporal(async (client): Promise<Left> => {
        const left = await recall(client);
        const { state } = left;
        return { ...left, state: state && (await withReport(client, workflowId, state)) };
      });
    },

    keepTarget: async ({ store, state }) => {
      const record = { at: new Date().toISOString(), state };
      await openStore(store).putRecord(targetRecordName(callingWorkflow().workflowId), record);
      return {};
    },

    awaitWork: async ({ workflowId }) => ({
      result: await pollUntil<ReleaseResult>('SLIPWAY_STEP_TIMED_OUT', () =>
        askTemporal(async (client) => {
          const handle = client.workflow.getHandle(workflowId);
          const described = await ifThere(handle.describe());
          if (described === undefined)
            throw new SlipwayError('SLIPWAY_INTERNAL', `${workflowId} was deleted from Temporal`);
          if (described.status.name === 'RUNNING') return { insteadOf: `${workflowId} runs` };
          try {
            return { found: await workflowResult<ReleaseResult>(handle) };
          } catch (error) {
            if (!(error instanceof WorkflowFailedError)) throw error;
            throw new SlipwayError('SLIPWAY_INTERNAL', (error.cause ?? error).message);
          }
        }),
      ),
    }),
  };
}

/** Queries the newest run that had any state. `problem`: why there is no answer; `null` if there is no such run. */
async function askRuns(
  client: Client,
  workflowId: string,
  runs: readonly TargetRun[],
): Promise<{ readonly left: Left } | { readonly problem: string | null }> {
  const { attempt, startToCloseTimeoutMs } = Context.current().info;
  for (const { runId } of runs) {
    const handle = client.workflow.getHandle(workflowId, runId);
    let seen: TargetView;
    try {
      const deadline = Date.now() + startToCloseTimeoutMs * QUERY_PART;
      seen = await client.withDeadline(deadline, () => handle.query(viewQuery));
    } catch (error) {
      if (await neverBegan(handle)) continue;
      if (attempt < (isSilence(error) ? BELIEVED_SILENCE : BELIEVED_REFUSAL)) throw error;
      const message = errorText(error);
      return { problem: `its run ${runId} cannot be asked (${message})` };
    }
    // It ended before it had read the state of the runs before it.
    if (seen.recovering === true) continue;
    return { left: { ...(await leftBehind(client, seen)), signaled: seen.signaled } };
  }
  return { problem: null };
}

/** Whether there was no answer, and not a rejection by a worker or Temporal. */
function isSilence(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) && SILENT.has(cause.code);
}

/** The state of a run, and its release or rollback, which may have ended since. */
async function leftBehind(client: Client, { state, running }: TargetView): Promise<Left> {
  if (running === null) return { state: ownsNothing(state), work: null };
  const found = await readWork(client.workflow.getHandle(running.workflowId));
  if (found !== undefined)
    return { state: ownsNothing(state), work: { ...found.work, restores: running.restores } as NextWork };
  return { state: ownsNothing(endUnstarted(state, running, new Date().toISOString())), work: null };
}

/** Completes a state that is older than the last run with the numbers used since and with what runs. */
async function leftInTemporal(client: Client, targetId: string, state: TargetState): Promise<Left> {
  const numbers = (await listWork(client, targetId)).map(({ number }) => number + 1);
  const nextNumber = Math.max(state.nextNumber, ...numbers);
  const work = (await runningWork(client, targetId)) ?? null;
  // The request of a rollback is the first one while it runs. Another one would take its result for its own.
  const rollbacks = work?.kind === 'rollback' ? [work.request] : [];
  return { state: ownsNothing({ ...state, nextNumber, rollbacks }), work };
}

/** The state with the report of a guard that ended while its target did not run, and so did not receive it. */
async function withReport(client: Client, targetId: string, state: TargetState): Promise<TargetState> {
  if (state.guard === undefined) return state;
  const handle = client.workflow.getHandle(state.guard.workflowId);
  const described = await ifThere(handle.describe());
  if (described?.status.name !== 'COMPLETED') return state;
  const { since } = (await startInput(handle)) as GuardInput;
  const { report } = (await handle.result()) as GuardResult;
  return takeReport(state, targetId, { ...report, since }, new Date().toISOString());
}

/** Another target may have taken over the deployment's lock meanwhile. */
function ownsNothing({ owns: _, ...state }: TargetState): TargetState {
  return state;
}

/** The record store in the newest run's input. */
async function storeOf(
  client: Client,
  workflowId: string,
  [newest]: readonly TargetRun[],
): Promise<string | null> {
  if (newest === undefined) return null;
  const input = (await startInput(client.workflow.getHandle(workflowId, newest.runId))) as
    { readonly recordStore?: string; readonly state?: TargetState } | undefined;
  return input?.state?.lastRequest?.recordStore ?? input?.recordStore ?? null;
}

/** Notes in a target's state that it comes from the record store, and may be older than the earlier run's state. */
function noteOld(state: TargetState | null, at: string, problem: string): TargetState | null {
  if (state === null) return null;
  const reason = `recovered from the record store’s state of ${exactText(at)}, without what changed later: ${problem}`;
  return ignoreMessage(state, 'recovery', reason, new Date().toISOString());
}

async function readKept(store: RecordStore, workflowId: string): Promise<Kept | undefined> {
  try {
    return await readTargetRecord(store, workflowId);
  } catch (error) {
    throw unreadable(errorText(error));
  }
}

function unreadable(why: string): SlipwayError {
  return new SlipwayError('SLIPWAY_TARGET_UNREADABLE', why);
}
