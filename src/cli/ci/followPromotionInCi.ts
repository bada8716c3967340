import { formatDuration } from '../../domain/duration.ts';
import type { PromotionResult } from '../../domain/promotion/promotion.ts';
import { outcomeExitCode } from '../../domain/release/outcome.ts';
import { describeJudgement } from '../../domain/story.ts';
import type { TemporalConnection } from '../../temporal/client/connection.ts';
import { workflowPage } from '../../temporal/client/temporalSettings.ts';
import { type FollowedPromotion, followPromotion } from '../commands/promotion/followPromotion.ts';
import type { CommandContext } from '../context.ts';
import { type Links, onPageLines, OUTCOME_WORDS } from '../ui/endingText.ts';
import { annotateEnd, inSection } from './ciLog.ts';
import { checksSection, code, type Fact, factsTable, stepsSection, summaryOf } from './markdown.ts';
import { reportInCi, writeJobSummary } from './reportInCi.ts';

/**
 * Follows a promotion to its end, as {@link followPromotion} does. In CI, its steps are a foldable section of the log,
 * and an unwanted outcome annotates the run. On GitHub it also writes the job summary and the step outputs.
 */
export async function followPromotionInCi(
  context: CommandContext,
  temporal: TemporalConnection,
  followed: FollowedPromotion,
  signal: AbortSignal,
): Promise<number> {
  const { name, workflowId, dashboardUrl } = followed;
  const { exitCode, result, gaveUp } = await inSection(context, `${name}, step by step`, (close) =>
    followPromotion(context.output, temporal, { ...followed, onEnd: close }, signal),
  );
  if (result !== undefined) {
    const { promotion, outcome, reason, releaseId } = result;
    annotateEnd(context, exitCode, `${promotion}: ${OUTCOME_WORDS[outcome]}`, reason);
    const workflowUrl = workflowPage(temporal.settings, workflowId);
    const summary = promotionSummary(result, { dashboardUrl, workflowUrl });
    await writeJobSummary(context, summary, { 'release-id': releaseId ?? '', outcome });
  }
  if (gaveUp !== undefined) {
    const why = [gaveUp, ...onPageLines(dashboardUrl)];
    await reportInCi(context, { exitCode, title: `${name}: not watched to its end`, why, outputs: {} });
  }
  return exitCode;
}

export function promotionSummary(result: PromotionResult, { dashboardUrl, workflowUrl }: Links): string {
  const { promotion, from, to, outcome, reason, startedAt, endedAt, requestedBy, judgement } = result;
  const words = result.nothingToDo ? 'nothing to do' : OUTCOME_WORDS[outcome];
  const facts: readonly Fact[] = [
    ['from', from],
    ['to', to],
    ['took', formatDuration(Date.parse(endedAt) - Date.parse(startedAt))],
    ['asked by', [requestedBy.who, requestedBy.reason].filter(Boolean).join(': ')],
    ['artifact', code(result.artifact)],
    ['commit', code(result.commit)],
    ['candidate', code(result.candidateRevisionId)],
    ['release', code(result.releaseId)],
    ['judged', judgement === null ? null : describeJudgement(judgement)],
    ['differs', result.differences.join('; ')],
    ['code', code(result.code)],
    ['page', dashboardUrl],
    ['Temporal', workflowUrl],
  ];
  const title = `${promotion}, ${from} to ${to}: ${words}`;
  const sections = [factsTable(facts), stepsSection(result.steps, endedAt), checksSection(result.verdicts)];
  return summaryOf(outcomeExitCode('release', outcome), title, [reason], sections.flat());
}
