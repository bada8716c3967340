import type { Outcome } from './release/outcome.ts';

/** The common field of the results of releases, rollbacks and promotions. */
interface WithOutcome {
  readonly outcome: Outcome;
}

/**
 * The result of a release, a rollback or a promotion. If it needs a person, the result is in the workflow's failure.
 * @throws the workflow's failure if it has no result: it was terminated, or its own code failed.
 */
export async function workflowResult<R extends WithOutcome>(workflow: {
  result(): Promise<unknown>;
}): Promise<R> {
  try {
    return (await workflow.result()) as R;
  } catch (error) {
    const result = error instanceof Error ? resultInFailure(error.cause) : undefined;
    if (result === undefined) throw error;
    return result as R;
  }
}

/** The result in a workflow's failure (`endWorkflow`), also from a history; `undefined` if there is none. */
export function resultInFailure(failure: unknown): WithOutcome | undefined {
  const { type, details } = (failure ?? {}) as { readonly type?: unknown; readonly details?: unknown };
  const [first] = Array.isArray(details) ? (details as (WithOutcome | null | undefined)[]) : [];
  return typeof type === 'string' && first?.outcome === type ? first : undefined;
}
