import { renewSignal } from '../../messages/target.ts';
import { WORKFLOW_TYPES } from '../../messages/workflowTypes.ts';
import { keyIdsIn } from '../history/payloads.ts';
import { type TemporalConnection, callTemporal } from './connection.ts';
import { eachRunning } from './listRunning.ts';
import { applySchedules, listSchedules } from './schedule/schedules.ts';
import { isGone, orNone } from './temporalError.ts';

/** A running workflow or a schedule with payloads that are not encrypted with the first key. */
export interface OldKeyUse {
  readonly id: string;
  readonly keys: readonly string[];
  /** Encrypts it with the first key. `null`: it does not run for long, and ends by itself. */
  readonly renew: (() => Promise<void>) | null;
}

/** Workflows that run for as long as they are needed, and take {@link renewSignal}. */
const LONG_LIVED: ReadonlySet<string> = new Set([
  WORKFLOW_TYPES.target,
  WORKFLOW_TYPES.hook,
  WORKFLOW_TYPES.preview,
]);

/**
 * What will need another key than the first one for longer than the namespace keeps ended workflows. Reads the
 * histories of all running workflows, one after the other.
 */
export async function findOldKeys(temporal: TemporalConnection): Promise<readonly OldKeyUse[]> {
  const { client, connection, settings } = temporal;
  const [first] = settings.codec?.keyIds ?? [];
  const found: OldKeyUse[] = [];
  const note = (id: string, message: object, renew: OldKeyUse['renew']): void => {
    const keys = [...keyIdsIn(message)].filter((key) => key !== first);
    if (keys.length > 0) found.push({ id, keys, renew });
  };
  return callTemporal(temporal, async () => {
    for await (const { workflowId, runId, type } of eachRunning(temporal, Object.values(WORKFLOW_TYPES))) {
      const handle = client.workflow.getHandle(workflowId, runId);
      const history = await handle.fetchHistory().catch(orNone(isGone));
      if (history) note(workflowId, history, LONG_LIVED.has(type) ? () => handle.signal(renewSignal) : null);
    }
    for (const schedule of await listSchedules(temporal)) {
      const { scheduleId, request } = schedule;
      const { namespace } = settings;
      const change = { scheduleId, name: request.name, kind: 'update', differences: [] } as const;
      note(scheduleId, await connection.workflowService.describeSchedule({ namespace, scheduleId }), () =>
        applySchedules(temporal, [schedule], [change], false),
      );
    }
    return found;
  });
}
