import {
  type Client,
  ScheduleAlreadyRunning,
  type ScheduleDescription,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
} from '@temporalio/client';

import { SlipwayError } from '../../../domain/errors.ts';
import type { DeclaredSchedule, ScheduleChange } from '../../../domain/schedule/schedule.ts';
import {
  ID_PREFIXES,
  type PromotionInput,
  WORKFLOW_TASK_TIMEOUT_MS,
  WORKFLOW_TYPES,
} from '../../../messages/workflowTypes.ts';
import type { TemporalConnection } from '../connection.ts';
import { ifSealed, isGone, isSealed, temporalError } from '../temporalError.ts';

export interface ExistingSchedule extends DeclaredSchedule {
  readonly paused: boolean;
  /** Why it was paused or resumed. */
  readonly note: string | null;
  /** The next runs: ISO 8601. */
  readonly next: readonly string[];
  /** The last runs: ISO 8601. */
  readonly recent: readonly string[];
}

const OVERLAP = { skip: ScheduleOverlapPolicy.SKIP, buffer_one: ScheduleOverlapPolicy.BUFFER_ONE } as const;

/**
 * @param sealed - takes the ids of the schedules whose payload key is missing. Default: the first one is an error.
 */
export async function listSchedules(
  temporal: TemporalConnection,
  sealed?: Map<string, SlipwayError>,
): Promise<readonly ExistingSchedule[]> {
  return asking(temporal, async () => {
    const found: ExistingSchedule[] = [];
    for await (const { scheduleId } of temporal.client.schedule.list()) {
      // The ids of other applications' schedules in the namespace start otherwise.
      if (!scheduleId.startsWith(ID_PREFIXES.promotion)) continue;
      try {
        const existing = await describe(temporal.client, scheduleId);
        if (existing !== undefined) found.push(existing);
      } catch (error) {
        if (sealed === undefined || !isSealed(error)) throw error;
        sealed.set(scheduleId, error);
      }
    }
    return found;
  });
}

export async function readSchedule(
  temporal: TemporalConnection,
  scheduleId: string,
): Promise<ExistingSchedule> {
  const found = await asking(temporal, () => describe(temporal.client, scheduleId));
  if (found === undefined) throw unknown(scheduleId);
  return found;
}

/**
 * Applies the changes. An existing schedule keeps its pause. A schedule that is not declared is removed only with
 * `prune`.
 */
export async function applySchedules(
  temporal: TemporalConnection,
  declared: readonly DeclaredSchedule[],
  changes: readonly ScheduleChange[],
  prune: boolean,
): Promise<void> {
  const { client } = temporal;
  await asking(temporal, async () => {
    for (const { scheduleId, kind } of changes) {
      const wanted = declared.find((other) => other.scheduleId === scheduleId);
      if (wanted !== undefined && kind !== 'unchanged') await putSchedule(temporal, wanted);
      if (kind === 'undeclared' && prune) {
        const handle = client.schedule.getHandle(scheduleId);
        await endWaitingRuns(temporal, scheduleId);
        await handle.delete();
      }
    }
  });
}

/** Creates a schedule, or changes it. Another person may have done so since it was read. */
async function putSchedule(temporal: TemporalConnection, wanted: DeclaredSchedule): Promise<void> {
  const { scheduleId } = wanted;
  const { schedule } = temporal.client;
  const options = optionsOf(temporal, wanted);
  try {
    await schedule.create({ scheduleId, ...options });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    await schedule.getHandle(scheduleId).update(({ state }) => ({ ...options, state }));
  }
}

/** Pauses or continues a schedule. Its runs that wait for a worker end with a pause: they would start a promotion later. */
export async function pauseSchedule(
  temporal: TemporalConnection,
  scheduleId: string,
  paused: boolean,
  note: string,
): Promise<void> {
  const handle = temporal.client.schedule.getHandle(scheduleId);
  await asking(temporal, async () => {
    if (!paused) return handle.unpause(note);
    await handle.pause(note);
    await endWaitingRuns(temporal, scheduleId);
  });
}

/** Ends the runs of a schedule that have started no promotion yet. Needs no payload key. */
async function endWaitingRuns(
  { client, connection, settings: { namespace } }: TemporalConnection,
  scheduleId: string,
): Promise<void> {
  const { info } = await connection.workflowService.describeSchedule({ namespace, scheduleId });
  // Temporal's running actions lack those that its own trigger has started beside another.
  for (const { startWorkflowResult: started } of info?.recentActions ?? []) {
    const run = client.workflow.getHandle(started?.workflowId ?? '');
    try {
      const { pendingChildren } = (await run.describe()).raw;
      if ((pendingChildren ?? []).length > 0) continue;
      await run.terminate('its schedule was paused or removed before a worker began it');
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }
}

function optionsOf({ settings }: TemporalConnection, { scheduleId, request, schedule }: DeclaredSchedule) {
  const { cron, everyMs, timeZone, jitterMs, overlap, catchUpMs } = schedule;
  const input: PromotionInput = { request, schedule };
  return {
    spec: {
      cronExpressions: cron === undefined ? undefined : [cron],
      intervals: everyMs === undefined ? undefined : [{ every: everyMs }],
      timezone: timeZone,
      jitter: jitterMs,
    },
    action: {
      type: 'startWorkflow' as const,
      workflowType: WORKFLOW_TYPES.promotionTurn,
      workflowId: `${scheduleId}:turn`,
      taskQueue: settings.taskQueue,
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
      args: [input],
    },
    policies: { overlap: OVERLAP[overlap], catchupWindow: catchUpMs, pauseOnFailure: false },
  };
}

async function describe(client: Client, scheduleId: string): Promise<ExistingSchedule | undefined> {
  const described = client.schedule.getHandle(scheduleId).describe();
  return read(
    await described.catch(
      ifSealed(({ code, message, place, hint }) => {
        const lost = `temporal schedule delete --schedule-id ${JSON.stringify(scheduleId)}`;
        throw new SlipwayError(code, `the schedule ${scheduleId} cannot be read: ${message}`, {
          place,
          hint: `${hint}. If the key is lost, delete the schedule (${lost}), then run: slipway schedule apply`,
        });
      }),
    ),
  );
}

/** Reads a schedule, whose declaration is in its runs' input. `undefined` if it is not one of Slipway's. */
function read({ scheduleId, action, state, info }: ScheduleDescription): ExistingSchedule | undefined {
  const [input] = (action.args ?? []) as readonly (PromotionInput | undefined)[];
  if (action.workflowType !== WORKFLOW_TYPES.promotionTurn || input?.schedule === undefined) return undefined;
  return {
    scheduleId,
    request: input.request,
    schedule: input.schedule,
    paused: state.paused,
    // Temporal has an empty one for a schedule that was never paused.
    note: state.note || null,
    next: info.nextActionTimes.map((time) => time.toISOString()),
    recent: info.recentActions.map(({ takenAt }) => takenAt.toISOString()),
  };
}

async function asking<T>({ settings }: TemporalConnection, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) throw unknown(error.scheduleId);
    throw temporalError(error, settings);
  }
}

function unknown(scheduleId: string): SlipwayError {
  const hint = 'create the schedules that slipway.yaml declares: slipway schedule apply';
  const what = 'this promotion has no schedule in Temporal';
  return new SlipwayError('SLIPWAY_SCHEDULE_UNKNOWN', what, { place: scheduleId, hint });
}
