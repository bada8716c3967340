import { formatDuration } from '../../domain/duration.ts';
import type { ReleaseResult } from '../../domain/release.ts';
import { stepElapsedMs, stepTitle } from '../../domain/story.ts';
import type { Ending } from '../../temporal/follow.ts';
import { type Asked, endingExitCode, OUTCOME_WORDS } from '../follow/endingText.ts';
import { MARKS } from '../style.ts';
import { exactText } from '../times.ts';

const ANSWER_MAX_CHARACTERS = 300;

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
  const facts: readonly (readonly [what: string, value: string | null | undefined])[] = [
    ['took', formatDuration(Date.parse(endedAt) - Date.parse(startedAt))],
    ['asked by', [result.requestedBy.who, result.requestedBy.reason].filter(Boolean).join(': ')],
    ['artifact', code(result.artifact)],
    ['commit', code(result.commit)],
    ['before', code(result.baseline?.revisionId ?? null)],
    ['made', code(result.revisionId)],
    ['put back', code(restoredRevision(result))],
    ['serves', servesText(result)],
    ['code', code(result.code)],
    ['agent', result.agentUrl],
    ['Temporal', workflowUrl],
  ];
  const told = facts.flatMap(([what, value]) => (value == null || value === '' ? [] : [[what, value]]));
  return [
    ...table(['', ''], told),
    ...(instructions === null ? [] : ['### A person is needed', '', '```', instructions, '```', '']),
    ...section(
      '### Steps',
      ['step', 'status', 'began', 'took', 'attempts', 'what came of it'],
      result.steps.map((step) => [
        stepTitle(step),
        step.status,
        exactText(step.startedAt),
        formatDuration(Math.max(stepElapsedMs(step, Date.parse(endedAt)), 0)),
        String(step.attempts ?? ''),
        step.detail ?? '',
      ]),
    ),
    ...section(
      '### Checks',
      ['check', 'verdict', 'took', 'answer', 'why'],
      result.verdicts.map(({ check, passed, latencyMs, answer, reasons }) => [
        check,
        passed ? `${MARKS.done} passed` : `${MARKS.failed} failed`,
        formatDuration(latencyMs),
        answer.slice(0, ANSWER_MAX_CHARACTERS),
        reasons.join('; '),
      ]),
    ),
  ];
}

function section(
  title: string,
  headings: readonly string[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  return rows.length === 0 ? [] : [title, '', ...table(headings, rows)];
}

function table(headings: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;
  return [line(headings), line(headings.map(() => '---')), ...rows.map(line), ''];
}

function restoredRevision({ steps }: ReleaseResult): string | null {
  return steps.findLast(({ restoring, step }) => restoring && step === 'redeploy')?.subject ?? null;
}

function servesText({ servingRevisionId, servingVerified }: ReleaseResult): string | null {
  if (servingRevisionId === null) return null;
  return `\`${servingRevisionId}\`, ${servingVerified ? 'verified' : 'unverified'}`;
}

function code(text: string | null): string | null {
  return text === null ? null : `\`${text}\``;
}

/** A text in one cell: what an agent answers must not become a table, a tag or a picture. */
function cell(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('|', '\\|')
    .replaceAll('![', '!\\[');
}
