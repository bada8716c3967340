import type { ReleaseResult, StepRecord } from '../release/release.ts';
import type { Instant } from '../scalars.ts';

/** How long it took to restore an earlier revision. */
export interface RestoreSpan {
  /** When the release failed or was stopped, or the rollback began. */
  readonly since: Instant;
  /** When the restored revision served. */
  readonly servedAt: Instant;
}

/** The restore that a release or a rollback did; `undefined` if it restored nothing or failed. */
export function restoreSpanOf({
  kind,
  outcome,
  steps,
  startedAt,
}: Pick<ReleaseResult, 'kind' | 'outcome' | 'steps' | 'startedAt'>): RestoreSpan | undefined {
  const servedAgain = steps.findLast(
    ({ restoring, step, status }) => restoring && step === 'serving' && status === 'done',
  );
  const servedAt = servedAgain?.endedAt;
  if (servedAt === undefined || outcome === 'rollback_failed') return undefined;
  return { since: kind === 'rollback' ? startedAt : stoppedAt(steps), servedAt };
}

/** The end of the step that failed or was canceled; if none did, the start of the restore. */
function stoppedAt(steps: readonly StepRecord[]): Instant {
  const begin = steps.findIndex(({ restoring }) => restoring);
  const last = steps.slice(0, begin).findLast(({ status }) => status === 'failed' || status === 'canceled');
  return last?.endedAt ?? steps[begin]?.startedAt ?? '';
}
