import { formatDuration } from '../../domain/duration.ts';
import type { ReleaseResult } from '../../domain/release/release.ts';
import type { Ending } from '../../temporal/client/release/follow.ts';
import { type Asked, endingExitCode, OUTCOME_WORDS } from '../ui/endingText.ts';
import { MARKS } from '../ui/style.ts';
import { cell, checksSection, code, type Fact, factsTable, stepsSection } from './markdown.ts';

/** What a job's summary is made from. */
export interface Summarized {
  readonly asked: Asked;
  readonly target: string;
  readonly ending: Ending;
  /** Where Temporal shows it. */
  readonly workflowUrl: string | null;
}

/** How a release ended, as Markdown: outcome, what was put back and why, steps with times, checks with answers, links. */
export function jobSummary({ asked, target, ending, workflowUrl }: Summarized): string {
  const { releaseId, outcome, reason } = ending.from === 'result' ? ending.result : ending.row;
  const mark = endingExitCode(asked, ending) === 0 ? MARKS.done : MARKS.failed;
  const lines = [
    `## ${mark} ${releaseId} on ${cell(target)}: ${OUTCOME_WORDS[outcome]}`,
    '',
    cell(reason),
    '',
  ];
  if (ending.from === 'result') lines.push(...resultTables(ending.result, workflowUrl));
  return `${lines.join('\n')}\n`;
}

function resultTables(result: ReleaseResult, workflowUrl: string | null): readonly string[] {
  const { startedAt, endedAt, instructions } = result;
  const facts: readonly Fact[] = [
    ['took', formatDuration(Date.parse(endedAt) - Date.parse(startedAt))],
    ['asked by', [result.requestedBy.who, result.requestedBy.reason].filter(Boolean).join(': ')],
    ['artifact', code(result.artifact)],
    ['commit', code(result.commit)],
    ['before', code(result.baseline?.revisionId ?? null)],
    ['made', code(result.revisionId)],
    ['restored', code(restoredRevision(result))],
    ['serves', servesText(result)],
    ['code', code(result.code)],
    ['agent', result.agentUrl],
    ['Temporal', workflowUrl],
  ];
  return [
    ...factsTable(facts),
    ...(instructions === null ? [] : ['### A person is needed', '', '```', instructions, '```', '']),
    ...stepsSection(result.steps, endedAt),
    ...checksSection(result.verdicts),
  ];
}

function restoredRevision({ steps }: ReleaseResult): string | null {
  return steps.findLast(({ restoring, step }) => restoring && step === 'redeploy')?.subject ?? null;
}

function servesText({ servingRevisionId, servingVerified }: ReleaseResult): string | null {
  if (servingRevisionId === null) return null;
  return `\`${servingRevisionId}\`, ${servingVerified ? 'verified' : 'unverified'}`;
}
