import { datasetText } from '../../domain/check/dataset.ts';
import { scoresText } from '../../domain/check/evaluator.ts';
import { repetitionsText } from '../../domain/check/repetition.ts';
import { formatDuration } from '../../domain/duration.ts';
import { exactText } from '../../domain/scalars.ts';
import type { CheckVerdict, StepRecord } from '../../domain/release/release.ts';
import { stepElapsedMs, stepTitle } from '../../domain/story.ts';
import { MARKS } from '../ui/text.ts';

const ANSWER_MAX_CHARACTERS = 300;

/** A fact of a summary. Facts without a value are left out. */
export type Fact = readonly [what: string, value: string | null | undefined];

export function factsTable(facts: readonly Fact[]): readonly string[] {
  const known = facts.flatMap(([what, value]) => (value == null || value === '' ? [] : [[what, value]]));
  return known.length === 0 ? [] : table(['', ''], known);
}

/** A job summary: a heading with a mark, paragraphs, and sections. */
export function summaryOf(
  exitCode: number,
  title: string,
  why: readonly string[],
  sections: readonly string[] = [],
): string {
  const mark = exitCode === 0 ? MARKS.done : MARKS.failed;
  const paragraphs = why.flatMap((each) => [cell(each), '']);
  return [`## ${mark} ${cell(title)}`, '', ...paragraphs, ...sections].join('\n');
}

export function stepsSection(steps: readonly StepRecord[], endedAt: string): readonly string[] {
  return section(
    '### Steps',
    ['step', 'status', 'began', 'took', 'attempts', 'result'],
    steps.map((step) => [
      stepTitle(step),
      step.status,
      exactText(step.startedAt),
      formatDuration(stepElapsedMs(step, Date.parse(endedAt))),
      String(step.attempts ?? ''),
      step.detail ?? '',
    ]),
  );
}

export function checksSection(verdicts: readonly CheckVerdict[]): readonly string[] {
  return section(
    '### Checks',
    ['check', 'verdict', 'took', 'answer', 'why'],
    verdicts.map(({ check, passed, latencyMs, answer, reasons, repetitions, scores, dataset }) => [
      repetitions === undefined ? check : `${check} (${repetitionsText(repetitions)})`,
      `${passed ? `${MARKS.done} passed` : `${MARKS.failed} failed`}${scores === undefined ? '' : `, scored ${scoresText(scores)}`}`,
      formatDuration(latencyMs),
      answer.slice(0, ANSWER_MAX_CHARACTERS),
      passed && dataset !== undefined ? datasetText(dataset) : reasons.join('; '),
    ]),
  );
}

function section(
  title: string,
  headings: readonly string[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  return rows.length === 0 ? [] : [title, '', ...table(headings, rows)];
}

export function table(headings: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;
  return [line(headings), line(headings.map(() => '---')), ...rows.map(line), ''];
}

/** A name as Markdown code; `null` stays `null`. */
export function code(text: string | null): string | null {
  return text === null ? null : `\`${text}\``;
}

/** A text in one table cell, escaped: an agent's answer must not become a table, a tag or an image. */
function cell(text: string): string {
  return text
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('|', '\\|')
    .replaceAll('![', '!\\[');
}
