import type { RunRecord } from '../store/runRecords.ts';
import type { ThreadRecord } from '../store/threadStore.ts';

/** A run as the contract shows it (contract 001, "Run"), with `error` where it failed and its `attempt`. */
export function wireRun(run: RunRecord): Record<string, unknown> {
  return {
    run_id: run.run_id,
    thread_id: run.thread_id,
    assistant_id: run.assistant_id,
    created_at: run.created_at.toISOString(),
    updated_at: run.updated_at.toISOString(),
    metadata: run.metadata,
    status: run.status,
    kwargs: run.kwargs,
    multitask_strategy: run.multitask_strategy,
    attempt: run.attempt,
    error: run.error ?? undefined,
  };
}

/** A thread as the contract shows it (contract 001, "Thread"), with `interrupts`, and `error` where it failed. */
export function wireThread(thread: ThreadRecord): Record<string, unknown> {
  return {
    thread_id: thread.thread_id,
    created_at: thread.created_at.toISOString(),
    updated_at: thread.updated_at.toISOString(),
    metadata: thread.metadata,
    status: thread.status,
    config: thread.config,
    values: thread.values,
    interrupts: thread.interrupts,
    error: thread.error ?? undefined,
  };
}

/** The fields that somebody asked for (public client: `select`), or all. */
export function selected(
  whole: Record<string, unknown>,
  select: readonly string[] | null | undefined,
): Record<string, unknown> {
  if (select == null) return whole;
  return Object.fromEntries(Object.entries(whole).filter(([name]) => select.includes(name)));
}
