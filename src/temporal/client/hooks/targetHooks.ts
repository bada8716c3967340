import { SlipwayError } from '../../../domain/errors.ts';
import type { HookDecision, HookRow } from '../../../domain/hooks/hookState.ts';
import { WORKFLOW_TYPES } from '../../../messages/workflowTypes.ts';
import type { TemporalConnection } from '../connection.ts';
import { listRunning } from '../listRunning.ts';
import { viewHookEvents } from './hookClient.ts';

/** The events of one hook that concern one target. */
export interface TargetHook {
  /** Its name in its `slipway.yaml`. */
  readonly name: string;
  readonly workflowId: string;
  /** Oldest first, each with its decisions on this target. `null`: the hook does not answer. */
  readonly rows: readonly HookRow[] | null;
}

/**
 * The events of all hooks that concern a target. Temporal's list of hooks is up to a few seconds late.
 *
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function viewTargetHooks(
  temporal: TemporalConnection,
  targetId: string,
): Promise<readonly TargetHook[]> {
  const workflowIds = await listRunning(temporal, WORKFLOW_TYPES.hook, ({ workflowId, memo }) => {
    const targets = memo?.['targets'];
    return Array.isArray(targets) && targets.includes(targetId) ? workflowId : undefined;
  });
  return Promise.all(
    workflowIds.sort().map(async (workflowId): Promise<TargetHook> => {
      const name = hookNameOf(workflowId);
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
