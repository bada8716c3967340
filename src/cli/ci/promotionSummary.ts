import { formatDuration } from '../../domain/duration.ts';
import type { PromotionResult } from '../../domain/promotion/promotion.ts';
import { outcomeExitCode } from '../../domain/release/outcome.ts';
import { describeJudgement } from '../../domain/story.ts';
import { OUTCOME_WORDS } from '../ui/endingText.ts';
import { MARKS } from '../ui/style.ts';
import { cell, checksSection, code, type Fact, factsTable, stepsSection } from './markdown.ts';

/**
 * How a promotion ended, as Markdown: outcome, what was promoted, what the judge found, steps with times, checks with
 * answers, links.
 *
 * @param workflowUrl - where Temporal shows it.
 */
export function promotionSummary(result: PromotionResult, workflowUrl: string | null): string {
  const { promotion, from, to, outcome, reason, startedAt, endedAt, requestedBy, judgement } = result;
  const mark = outcomeExitCode('release', outcome) === 0 ? MARKS.done : MARKS.failed;
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
    ['Temporal', workflowUrl],
  ];
  const lines = [
    `## ${mark} ${cell(promotion)}, ${cell(from)} to ${cell(to)}: ${words}`,
    '',
    cell(reason),
    '',
    ...factsTable(facts),
    ...stepsSection(result.steps, endedAt),
    ...checksSection(result.verdicts),
  ];
  return `${lines.join('\n')}\n`;
}
