import { createHash } from 'node:crypto';

import { status } from '@grpc/grpc-js';
import { Context } from '@temporalio/activity';
import { type Client, isGrpcServiceError, ServiceError, WorkflowFailedError } from '@temporalio/client';

import type { ArtifactStore } from '../../artifact/artifactStore.ts';
import { SlipwayError } from '../../domain/errors.ts';
import type { ReleaseResult } from '../../domain/release/release.ts';
import { endUnstarted } from '../../domain/target/targetQueue.ts';
import {
  EMPTY_TARGET,
  ignoreMessage,
  type Kept,
  keptStateOf,
  type NextWork,
  type TargetState,
} from '../../domain/target/targetState.ts';
import { workflowResult } from '../../domain/workflowResult.ts';
import { type TargetView, viewQuery } from '../../messages/target.ts';
import type { Activities } from '../activities.ts';
import { askTemporal } from '../askTemporal.ts';
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

/** Where records are kept. */
type RecordStore = Pick<ArtifactStore, 'putRecord' | 'getRecord'>;

/** What an earlier run left: what the target knew, and what runs still. */
interface Left {
  readonly state: TargetState | null;
  readonly work: NextWork | null;
}

/** Each attempt may ask an earlier run for this part of its time: a worker replays it before it answers. */
const QUERY_PART = 1 / 3;
/** From this attempt on, a run that refuses to answer is taken for one that cannot. */
const BELIEVED_REFUSAL = 2;
/**
 * From this attempt on, a run that no worker answers for is taken for one that cannot: only a target that already waits
 * on hold makes as many, and has asked for about two minutes then.
 */
const BELIEVED_SILENCE = 4;
const SILENT: ReadonlySet<number> = new Set([status.CANCELLED, status.DEADLINE_EXCEEDED, status.UNAVAILABLE]);

/**
 * What a target asks when it starts without its state: Temporal, which answers for the earlier run by replaying it
 * until its retention ends; then the record store.
 */
export function recoveryActivities(
  openStore: (url: string) => RecordStore,
  pollUntil: PollUntil,
): Untracked<Pick<Activities, 'recallTarget' | 'keepTarget' | 'awaitWork'>> {
  return {
    recallTarget: async ({ recordStore, afresh, isReset }) => {
      const { workflowId, runId } = callingTarget();
      const left = await askTemporal(async (client): Promise<Left> => {
        if (afresh) return leftInTemporal(client, workflowId, EMPTY_TARGET);
        const runs = await earlierRuns(client, workflowId, runId);
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
      });
      return { ...left, isReset };
    },

    keepTarget: async ({ store, state }) => {
      const record = { at: new Date().toISOString(), state };
      await openStore(store).putRecord(recordName(callingTarget().workflowId), record);
      return {};
    },

    awaitWork: async ({ workflowId }) => ({
      result: await pollUntil<ReleaseResult>('SLIPWAY_STEP_TIMED_OUT', () =>
        askTemporal(async (client) => {
          const handle = client.workflow.getHandle(workflowId);
          const { status } = await handle.describe();
          if (status.name === 'RUNNING') return { insteadOf: `${workflowId} runs` };
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

/** Asks the newest run that knew anything. `problem`: why there is no answer; `null` where there is no such run. */
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
      const message = error instanceof Error ? error.message : String(error);
      return { problem: `its run ${runId} cannot be asked (${message})` };
    }
    // It was ended before it had read what the runs before it knew.
    if (seen.recovering === true) continue;
    return { left: await leftBehind(client, seen) };
  }
  return { problem: null };
}

/** Whether nothing answered, as opposed to a worker or Temporal that refused. */
function isSilence(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) && SILENT.has(cause.code);
}

/** What a run knew, and its release or rollback, which may have ended since. */
async function leftBehind(client: Client, { state, running }: TargetView): Promise<Left> {
  if (running === null) return { state: ownsNothing(state), work: null };
  const found = await readWork(client.workflow.getHandle(running.workflowId));
  if (found !== undefined) return { state: ownsNothing(state), work: found.work };
  return { state: ownsNothing(endUnstarted(state, running, new Date().toISOString())), work: null };
}

/** What a state that is older than the last run lacks: the numbers that were given since, and what runs. */
async function leftInTemporal(client: Client, targetId: string, state: TargetState): Promise<Left> {
  const numbers = (await listWork(client, targetId)).map(({ number }) => number + 1);
  const nextNumber = Math.max(state.nextNumber, ...numbers);
  const work = (await runningWork(client, targetId)) ?? null;
  return { state: ownsNothing({ ...state, nextNumber }), work };
}

/** Another target may have taken the deployment's lock over meanwhile. */
function ownsNothing({ owns: _, ...state }: TargetState): TargetState {
  return state;
}

/** The record store that the newest run knew of. */
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

/** Says in a target's state that it is the record store's, which may be older than what the earlier run knew. */
function noteOld(state: TargetState | null, at: string, problem: string): TargetState | null {
  if (state === null) return null;
  const reason = `recovered from the record store’s state of ${at}, without what changed later: ${problem}`;
  return ignoreMessage(state, 'recovery', reason, new Date().toISOString());
}

async function readKept(store: RecordStore, workflowId: string): Promise<Kept | undefined> {
  try {
    return keptStateOf(await store.getRecord(recordName(workflowId)));
  } catch (error) {
    throw unreadable(error instanceof Error ? error.message : String(error));
  }
}

function unreadable(why: string): SlipwayError {
  return new SlipwayError('SLIPWAY_TARGET_UNREADABLE', why);
}

/** No target's name begins like this, so that no release's record is beside it. */
function recordName(workflowId: string): string {
  return `.targets/${createHash('sha256').update(workflowId).digest('hex')}.json`;
}

function callingTarget(): { readonly workflowId: string; readonly runId: string } {
  const { workflowExecution } = Context.current().info;
  if (workflowExecution === undefined) throw new Error('this activity is called by a target alone');
  return workflowExecution;
}
