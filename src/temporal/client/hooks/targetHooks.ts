import { SlipwayError } from '../../../domain/errors.ts';
import type { HookDecision, HookRow } from '../../../domain/hooks/hookState.ts';
import { WORKFLOW_TYPES } from '../../../messages/workflowTypes.ts';
import type { TemporalConnection } from '../connection.ts';
import { temporalError } from '../temporalError.ts';
import { viewHookEvents } from './hookClient.ts';

/** A hook whose rules may control targets. */
interface ListedHook {
  /** Its name in its `slipway.yaml`. */
  readonly name: string;
  readonly workflowId: string;
  /** The workflow ids of the targets. */
  readonly targets: readonly string[];
}

/** The events of one hook that concern one target. */
export interface TargetHook extends Pick<ListedHook, 'name' | 'workflowId'> {
  /** Oldest first, each with its decisions on this target. `null`: the hook does not answer. */
  readonly rows: readonly HookRow[] | null;
}

/** The limit for the list call, in milliseconds. */
const LIST_TIMEOUT_MS = 10_000;

/**
 * The hooks of the namespace that have received events. Temporal's list is up to a few seconds late.
 *
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE.
 */
async function listHooks({ client, settings }: TemporalConnection): Promise<readonly ListedHook[]> {
  const query = `WorkflowType = '${WORKFLOW_TYPES.hook}' AND ExecutionStatus = 'Running'`;
  try {
    return await client.withDeadline(Date.now() + LIST_TIMEOUT_MS, async () => {
      const hooks: ListedHook[] = [];
      for await (const { workflowId, memo } of client.workflow.list({ query })) {
        const targets = memo?.['targets'];
        if (!Array.isArray(targets)) continue;
        hooks.push({ name: hookNameOf(workflowId), workflowId, targets: targets.map(String) });
      }
      return hooks.sort((one, other) => one.workflowId.localeCompare(other.workflowId));
    });
  } catch (error) {
    throw temporalError(error, settings);
  }
}

/**
 * The events of all hooks that concern a target.
 *
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function viewTargetHooks(
  temporal: TemporalConnection,
  targetId: string,
): Promise<readonly TargetHook[]> {
  const hooks = (await listHooks(temporal)).filter(({ targets }) => targets.includes(targetId));
  return Promise.all(
    hooks.map(async ({ name, workflowId }): Promise<TargetHook> => {
      try {
        const { rows } = (await viewHookEvents(temporal, { workflowId })) ?? { rows: [] };
        return { name, workflowId, rows: rowsOfTarget(rows, targetId) };
      } catch (error) {
        if (!(error instanceof SlipwayError)) throw error;
        return { name, workflowId, rows: null };
      }
    }),
  );
}

/** An event that waits for a person's approval on a target. */
export interface HookApproval extends Pick<HookRow, 'id' | 'title'>, Omit<HookDecision, 'state'> {
  /** The hook's name. */
  readonly hook: string;
}

/** What waits for approval, oldest first. */
export function approvalsOf(hooks: readonly TargetHook[]): readonly HookApproval[] {
  return hooks.flatMap(({ name: hook, rows }) =>
    (rows ?? []).flatMap(({ id, title, decisions }) =>
      decisions.flatMap(({ state, ...decision }) =>
        state === 'needs_approval' ? [{ hook, id, title, ...decision }] : [],
      ),
    ),
  );
}

/** The events that concern a target, with the decisions about it alone. */
function rowsOfTarget(rows: readonly HookRow[], targetId: string): readonly HookRow[] {
  return rows.flatMap((row) => {
    const decisions = row.decisions.filter((decision) => decision.targetId === targetId);
    return decisions.length === 0 ? [] : [{ ...row, decisions }];
  });
}

/** `hook:NAME:DIGEST` */
function hookNameOf(workflowId: string): string {
  return workflowId.split(':')[1] ?? workflowId;
}
