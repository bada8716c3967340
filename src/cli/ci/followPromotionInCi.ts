import type { TemporalConnection } from '../../temporal/client/connection.ts';
import { workflowPage } from '../../temporal/client/temporalSettings.ts';
import { type FollowedPromotion, followPromotion } from '../commands/promotion/followPromotion.ts';
import type { CommandContext } from '../context.ts';
import { OUTCOME_WORDS } from '../ui/endingText.ts';
import { annotateEnd, ciLog } from './ciLog.ts';
import { promotionSummary } from './promotionSummary.ts';
import { reportInCi } from './reportInCi.ts';
import { writeJobSummary } from './writeJobSummary.ts';

/**
 * Follows a promotion to its end, as {@link followPromotion} does. In CI its steps can be folded up in the log, an end
 * that is not the one asked for stands at the run, and on GitHub the job gets a summary and the step its outputs.
 *
 * @returns the exit code.
 */
export async function followPromotionInCi(
  context: CommandContext,
  temporal: TemporalConnection,
  followed: FollowedPromotion,
  signal: AbortSignal,
): Promise<number> {
  const close = ciLog(context).open(`${followed.name}, step by step`);
  try {
    const { exitCode, result, gaveUp } = await followPromotion(
      context.output,
      temporal,
      { ...followed, onEnd: close },
      signal,
    );
    if (result !== undefined) {
      const { promotion, outcome, reason, releaseId } = result;
      annotateEnd(context, exitCode, `${promotion}: ${OUTCOME_WORDS[outcome]}`, reason);
      const summary = promotionSummary(result, workflowPage(temporal.settings, followed.workflowId));
      await writeJobSummary(context, summary, { 'release-id': releaseId ?? '', outcome });
    }
    if (gaveUp !== undefined) {
      close();
      const title = `${followed.name}: not watched to its end`;
      await reportInCi(context, { exitCode, title, why: [gaveUp], outputs: {} });
    }
    return exitCode;
  } finally {
    close();
  }
}
