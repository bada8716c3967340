import { onSlipwayError } from '../../../domain/errors.ts';
import { tallyKey } from '../../../domain/hooks/hookEvent.ts';
import type { HookCount, HookDecision, HookEvents, HookRow } from '../../../domain/hooks/hookState.ts';
import { hookEventsQuery } from '../../../messages/hooks.ts';
import type { TemporalConnection } from '../connection.ts';
import { type ListedHook, listHooks, viewHook } from './hookClient.ts';

/** What a hook has to do with one target. */
export interface TargetHook extends Pick<ListedHook, 'name' | 'workflowId'> {
  /** The events that concern the target, oldest first, each with its decisions on it. `null`: the hook does not answer. */
  readonly rows: readonly HookRow[] | null;
  /** How many earlier events had each decision, on any target. */
  readonly past: HookEvents['past'];
  /** The past of each rule on the target, by the rule's name. */
  readonly counts: Readonly<Record<string, HookCount>>;
}

/** The hooks that may control a target, in an order that stays. Temporal's list is up to a few seconds late. */
export async function viewTargetHooks(
  temporal: TemporalConnection,
  targetId: string,
): Promise<readonly TargetHook[]> {
  const hooks = (await listHooks(temporal)).filter(({ targets }) => targets.includes(targetId));
  return Promise.all(
    inOrder(hooks).map(async (hook): Promise<TargetHook> => {
      const events = await viewHook(temporal, hook, hookEventsQuery).catch(onSlipwayError(() => null));
      return hookOfTarget(
        hook,
        events === undefined ? { rows: [], past: {}, tallies: {} } : events,
        targetId,
      );
    }),
  );
}

/** What a hook has to do with a target. @param events - `null`: the hook does not answer. */
export function hookOfTarget(
  { name, workflowId }: Pick<ListedHook, 'name' | 'workflowId'>,
  events: HookEvents | null,
  targetId: string,
): TargetHook {
  if (events === null) return { name, workflowId, rows: null, past: {}, counts: {} };
  const rows = rowsOfTarget(events.rows, targetId);
  const rules = rows.flatMap(({ decisions }) => decisions);
  const counts = rules.flatMap(({ rule, target }) => {
    const count = events.tallies[tallyKey(rule, { target })];
    return count === undefined ? [] : [[rule, count] as const];
  });
  return { name, workflowId, rows, past: events.past, counts: Object.fromEntries(counts) };
}

/** Hooks in an order that stays. */
export function inOrder<T extends Pick<ListedHook, 'workflowId'>>(hooks: readonly T[]): readonly T[] {
  return [...hooks].sort((one, other) => (one.workflowId < other.workflowId ? -1 : 1));
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
