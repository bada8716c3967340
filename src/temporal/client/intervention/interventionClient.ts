import { randomUUID } from 'node:crypto';

import { hasCode, type SlipwayError } from '../../../domain/errors.ts';
import type { Prove } from '../../../domain/identity/statement.ts';
import type { InterventionAnswer, InterventionKind } from '../../../domain/intervention/intervention.ts';
import { lookUp } from '../../../domain/target/targetState.ts';
import {
  INTERVENTION_SIGNALS,
  INTERVENTION_UPDATES,
  type InterventionMessage,
} from '../../../messages/release.ts';
import {
  type QuarantineMessage,
  quarantineSignal,
  quarantineUpdate,
  type TargetView,
  unquarantineSignal,
  unquarantineUpdate,
  type WithdrawMessage,
  withdrawSignal,
  withdrawUpdate,
} from '../../../messages/target.ts';
import { ask, neverReleased, releaseUnknown, wrongMoment } from '../ask.ts';
import {
  callOrNone,
  describeWorkflow,
  TEMPORAL_ANSWERS_WITHIN_MS,
  type TemporalConnection,
} from '../connection.ts';
import { pause } from '../pause.ts';
import { isGone } from '../temporalError.ts';
import { viewTarget } from '../target/targetClient.ts';

/** The note for a message that was sent as a signal. */
export const KEPT = 'no worker answers; Temporal keeps it until one does';

/** The result of a message. `signal`: no worker answered, so the message waits for one. */
export interface Intervened {
  /** `null` for a promotion, or if it is not known yet which release runs. */
  readonly releaseId: string | null;
  readonly disposition: InterventionAnswer['disposition'] | 'kept';
  readonly note: string;
  readonly via: 'update' | 'signal';
}

/**
 * Sends an intervention to the release that runs on a target. If no worker answers, sends it as a signal, to the
 * named release or else to the target. Temporal keeps the signal until a worker runs.
 * @param releaseId - if given, only this release gets the message.
 * @throws SlipwayError SLIPWAY_WRONG_MOMENT if the release cannot use it now, or none runs; SLIPWAY_RELEASE_UNKNOWN,
 * SLIPWAY_TARGET_NEVER_RELEASED, SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function intervene(
  temporal: TemporalConnection,
  workflowId: string,
  kind: InterventionKind,
  message: InterventionMessage,
  releaseId?: string,
  prove?: Prove,
): Promise<Intervened> {
  const sayToOne = (meant: { releaseId: string; workflowId: string }, gone: string) =>
    sayTo(temporal, meant, kind, message, wrongMoment(gone), prove);
  let running;
  try {
    running = await runningRelease(temporal, workflowId, releaseId);
  } catch (error) {
    if (!hasCode(error, 'SLIPWAY_NO_WORKER')) throw error;
    if (releaseId !== undefined) {
      const meant = { releaseId, workflowId: `${workflowId}/${releaseId}` };
      return sayToOne(meant, `${releaseId} does not run`);
    }
    // A proof names one release, and the running one is unknown.
    if (kind === 'approve' && prove !== undefined) throw error;
    await leave(temporal, workflowId, kind, { ...message, requestId: message.requestId ?? randomUUID() });
    return kept(null);
  }
  const gone = wrongMoment(`${running.releaseId} has just ended`);
  const say = () => sayTo(temporal, running, kind, message, gone, prove);
  return onceStarted(temporal, running.workflowId, gone, say);
}

/** How long Temporal may take to start a release that its target has begun, in milliseconds. */
const STARTS_WITHIN_MS = 5_000;
const LOOK_MS = 100;

/** Repeats a message to a release that runs, according to its target, while Temporal is only starting it. */
async function onceStarted<T>(
  temporal: TemporalConnection,
  workflowId: string,
  gone: SlipwayError,
  say: () => Promise<T>,
): Promise<T> {
  const giveUpAt = Date.now() + STARTS_WITHIN_MS;
  for (;;) {
    try {
      return await say();
    } catch (error) {
      if (error !== gone || Date.now() > giveUpAt) throw error;
      const { status } = (await describeWorkflow(temporal, workflowId)) ?? {};
      // One that runs has started since.
      if (status !== undefined && status.name !== 'RUNNING') throw error;
    }
    await pause(LOOK_MS, undefined);
  }
}

async function leave(
  temporal: TemporalConnection,
  workflowId: string,
  kind: InterventionKind,
  message: InterventionMessage,
): Promise<void> {
  const signal = async (): Promise<true> => {
    await temporal.client.workflow.getHandle(workflowId).signal(INTERVENTION_SIGNALS[kind], message);
    return true;
  };
  const isLeft = await callOrNone(temporal, isGone, signal, TEMPORAL_ANSWERS_WITHIN_MS);
  if (isLeft === undefined)
    throw wrongMoment('the target was terminated in Temporal: its last release ends, or has ended');
}

/**
 * Stops one release: aborts it if it runs, withdraws it if it waits.
 * @throws SlipwayError SLIPWAY_WRONG_MOMENT if it has ended; SLIPWAY_RELEASE_UNKNOWN, SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function stopRelease(
  temporal: TemporalConnection,
  workflowId: string,
  releaseId: string,
  message: InterventionMessage,
  prove?: Prove,
): Promise<Intervened> {
  const notRunning = wrongMoment(`${releaseId} does not run`);
  const release = { releaseId, workflowId: `${workflowId}/${releaseId}` };
  const say = () => sayTo(temporal, release, 'abort', message, notRunning, prove);
  try {
    return await say();
  } catch (error) {
    if (error !== notRunning) throw error;
  }
  try {
    const { running } = await viewKnowing(temporal, workflowId, releaseId);
    if (running?.releaseId === releaseId)
      return await onceStarted(temporal, release.workflowId, notRunning, say);
  } catch (error) {
    if (!hasCode(error, 'SLIPWAY_NO_WORKER')) throw error;
  }
  return withdraw(temporal, workflowId, { ...message, release: releaseId });
}

/**
 * Sends an intervention to one release, or to a promotion (which has no release id).
 * @param gone - the error if it does not run (any longer).
 */
export async function sayTo(
  temporal: TemporalConnection,
  { releaseId, workflowId }: { readonly releaseId: string | null; readonly workflowId: string },
  kind: InterventionKind,
  { requestId = randomUUID(), ...said }: InterventionMessage,
  gone: SlipwayError,
  prove?: Prove,
): Promise<Intervened> {
  const answer = await ask(temporal, workflowId, {
    update: INTERVENTION_UPDATES[kind],
    signal: INTERVENTION_SIGNALS[kind],
    message: { ...said, requestId, identity: await prove?.({ action: kind, workflowId, requestId }) },
    gone: () => gone,
  });
  if (answer === undefined) return kept(releaseId);
  const { disposition, note } = answer;
  return { releaseId, disposition, note, via: 'update' };
}

async function withdraw(
  temporal: TemporalConnection,
  workflowId: string,
  message: WithdrawMessage & { readonly release: string },
): Promise<Intervened> {
  const withdrawn = await ask(temporal, workflowId, {
    update: withdrawUpdate,
    signal: withdrawSignal,
    message,
    updateId: message.requestId,
  });
  if (withdrawn === undefined) return kept(message.release);
  const note = 'it waited, and is withdrawn before it began';
  return { releaseId: message.release, disposition: 'taken', note, via: 'update' };
}

/**
 * Puts an artifact into quarantine, or removes it.
 * @returns the artifact's identity; `undefined` if no worker has answered yet.
 */
export async function setQuarantine(
  temporal: TemporalConnection,
  workflowId: string,
  quarantined: boolean,
  message: QuarantineMessage,
): Promise<string | undefined> {
  return ask(temporal, workflowId, {
    update: quarantined ? quarantineUpdate : unquarantineUpdate,
    signal: quarantined ? quarantineSignal : unquarantineSignal,
    message,
    updateId: message.requestId,
  });
}

async function runningRelease(
  temporal: TemporalConnection,
  workflowId: string,
  wanted: string | undefined,
): Promise<{ readonly releaseId: string; readonly workflowId: string }> {
  const { running } = await viewKnowing(temporal, workflowId, wanted);
  if (running === null) throw wrongMoment('no release runs on this target');
  if (wanted !== undefined && running.releaseId !== wanted) {
    throw wrongMoment(`${wanted} does not run; ${running.releaseId} does`);
  }
  if (running.kind === 'rollback') {
    throw wrongMoment(`${running.releaseId} puts an earlier revision back, which is never stopped halfway`);
  }
  return running;
}

async function viewKnowing(
  temporal: TemporalConnection,
  workflowId: string,
  wanted: string | undefined,
): Promise<TargetView> {
  const view = await viewTarget(temporal, workflowId);
  if (view === undefined) throw neverReleased(workflowId);
  const { state, running } = view;
  if (wanted === undefined || lookUp(state, running, wanted) !== undefined) return view;
  const ids = [...state.history, ...(running === null ? [] : [running]), ...state.queue].map(
    ({ releaseId }) => releaseId,
  );
  throw releaseUnknown(state.spec?.name ?? workflowId, wanted, ids.reverse());
}

function kept(releaseId: string | null): Intervened {
  return { releaseId, disposition: 'kept', note: KEPT, via: 'signal' };
}
