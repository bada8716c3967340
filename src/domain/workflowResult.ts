import type { Outcome } from './release/outcome.ts';

/** What releases, rollbacks and promotions end with. */
interface WithOutcome {
  readonly outcome: Outcome;
}

/**
 * The result of a release, a rollback or a promotion. One that needs a person ends `Failed` in Temporal, and its failure
 * carries the result.
 *
 * @param workflow - a client's handle of it, or its parent's.
 * @throws what the workflow ended with instead of a result: it was terminated, or its own code failed.
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

/**
 * The result in the failure of a workflow (`endWorkflow` in `workflows/failure.ts`); `undefined` if it failed without one.
 *
 * @param failure - an `ApplicationFailure`, or its type and details as a history has them.
 */
export function resultInFailure(failure: unknown): WithOutcome | undefined {
  const { type, details } = (failure ?? {}) as { readonly type?: unknown; readonly details?: unknown };
  const [first] = Array.isArray(details) ? (details as (WithOutcome | null | undefined)[]) : [];
  return typeof type === 'string' && first?.outcome === type ? first : undefined;
}
