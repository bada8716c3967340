import { pick } from '@slipway/contract/pick';

import type { RunRecord } from '../store/agentDatabase.ts';
import type { ThreadRecord } from '../store/threadStore.ts';

/** A run as the contract shows it (contract 001, "Run"), with its `attempt` and, if it failed, `error`. */
export function wireRun(run: RunRecord): Record<string, unknown> {
  return {
    ...pick(run, 'run_id', 'thread_id', 'assistant_id', 'created_at', 'updated_at', 'metadata', 'status'),
    ...pick(run, 'kwargs', 'multitask_strategy', 'attempt'),
    error: run.error ?? undefined,
  };
}

/** An accepted run: contract 001 shows it as `pending`, even if it has begun meanwhile. */
export function wireNewRun(run: RunRecord): Record<string, unknown> {
  return wireRun({ ...run, status: 'pending', attempt: 0 });
}

/** A thread as the contract shows it (contract 001, "Thread"), with `interrupts` and, if it failed, `error`. */
export function wireThread(thread: ThreadRecord): Record<string, unknown> {
  return {
    ...pick(thread, 'thread_id', 'created_at', 'updated_at', 'metadata', 'status', 'config', 'values'),
    interrupts: thread.interrupts,
    error: thread.error ?? undefined,
  };
}

/** The fields that the caller selected (public client: `select`), or all. */
export function pickFields(
  whole: Record<string, unknown>,
  select: readonly string[] | null | undefined,
): Record<string, unknown> {
  if (select == null) return whole;
  return Object.fromEntries(Object.entries(whole).filter(([name]) => select.includes(name)));
}
