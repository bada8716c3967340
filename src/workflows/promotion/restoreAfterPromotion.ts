import { uuid4 } from '@temporalio/workflow';

import { isOutcomeUnknown } from '../../domain/failure.ts';
import { isRollbackDone } from '../../domain/release/outcome.ts';
import { explain } from '../failure.ts';
import {
  awaitRelease,
  describeRelease,
  type Ending,
  holdIfBad,
  promotionActor,
  PromotionEnded,
  type PromotionRun,
  withdraw,
} from './promotionRun.ts';

/**
 * Undoes a promotion that failed or was stopped: asks the target to roll back the release, which puts the target on
 * hold and so stops the line.
 *
 * Run it in a non-cancellable scope.
 * @param stopReason - why it was asked to stop; `null` if it was not.
 */
export async function restoreAfterPromotion(
  run: PromotionRun,
  error: unknown,
  stopReason: string | null,
): Promise<Ending> {
  if (error instanceof PromotionEnded) return error.ending;
  const failure = explain(error);
  const why = stopReason ?? (failure.canceled ? 'the workflow was canceled' : failure.message);
  const stopped = stopReason !== null || failure.canceled;
  const code = stopped ? null : failure.code;
  try {
    if (run.submission !== null && run.ended === null) await withdraw(run, run.submission, why);
    if (run.ended?.outcome === 'released')
      return await rollBack(run, run.ended.servingRevisionId, why, stopped, code);
    const reason = `${why}; ${describeEffect(run)}`;
    if (run.ended !== null && (await holdIfBad(run, run.ended, reason))) {
      return { outcome: run.ended.outcome, reason, code };
    }
    if (stopped) return { outcome: 'aborted', reason, code };
    return { outcome: isOutcomeUnknown(failure.code) ? 'errored' : 'failed', reason, code };
  } catch (problem) {
    const reason = `${why}; and the state of "${run.request.to.name}" is unknown: ${explain(problem).message}`;
    return { outcome: 'errored', reason, code: explain(problem).code };
  }
}

/** Describes what the promotion did to `to`, as the target reports it. */
function describeEffect(run: PromotionRun): string {
  return run.ended === null ? `"${run.request.to.name}" was not changed` : describeRelease(run, run.ended);
}

async function rollBack(
  run: PromotionRun,
  released: string | null,
  why: string,
  stopped: boolean,
  code: Ending['code'],
): Promise<Ending> {
  const { journal, request, before } = run;
  const { to } = request;
  const requestId = uuid4();
  const message = {
    requestId,
    ...promotionActor(request, why),
    // A release that ran then was undone: otherwise it would have superseded this one.
    to: (before?.running == null ? before?.servingRevisionId : before.activeRevisionId) ?? undefined,
    serving: released ?? undefined,
  };
  const taken = await journal.step('promote', 'roll back', async (activities) => {
    const { answer, attempt } = await activities.rollBackTarget({ target: to, message });
    return { result: answer, attempt, detail: `${answer.disposition}: ${answer.reason}` };
  });
  if (taken.disposition === 'ignored' || taken.disposition === 'done') {
    const outcome = taken.disposition === 'done' ? 'superseded' : 'errored';
    return { outcome, reason: `${why}; "${to.name}" did not roll back: ${taken.reason}`, code };
  }
  const row = await awaitRelease(run, taken.requestId);
  const reason = `${why}; ${row.reason}`;
  if (!isRollbackDone(row.kind, row.outcome)) return { outcome: 'rollback_failed', reason, code };
  return { outcome: stopped ? 'aborted' : 'rolled_back', reason, code };
}
