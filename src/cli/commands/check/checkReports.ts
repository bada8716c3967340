import { datasetText, type DatasetVerdict, rowName } from '../../../domain/check/dataset.ts';
import { type EvaluatorScores, scoresText } from '../../../domain/check/evaluator.ts';
import { answeredText } from '../../../domain/check/repetition.ts';
import { formatDuration } from '../../../domain/duration.ts';
import { summaryOf, table } from '../../ci/markdown.ts';
import { ciLog, writeJobSummary } from '../../ci/reportInCi.ts';
import type { CommandContext } from '../../context.ts';
import type { CheckResult } from '../../events/checks.ts';
import { counted, fitLine, MARKS, type Style } from '../../ui/text.ts';

/**
 * Checks as JUnit XML, which CI systems show: one suite, a test case for each check. A check that could not be carried out
 * is an error, not a failure. Rows of a dataset are text within their check: as test cases of their own, a row that fails
 * within the pass rate would turn the job red.
 * @param agent - the suite's name.
 * @param tookMs - all of them together, in milliseconds.
 */
export function junitReport(agent: string, results: readonly CheckResult[], tookMs: number): string {
  const failures = results.filter(({ passed, error }) => !passed && error === null).length;
  const errors = results.filter(({ error }) => error !== null).length;
  const totals = { tests: results.length, failures, errors, time: seconds(tookMs) };
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${attributes(totals)}>`,
    `  <testsuite${attributes({ name: agent, ...totals })}>`,
    ...results.flatMap(testCase),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

function testCase(result: CheckResult): readonly string[] {
  const { check, passed, reasons, answer, latencyMs, scores = [], error, dataset } = result;
  const opening = `    <testcase${attributes({ name: check, classname: 'slipway check', time: seconds(latencyMs) })}`;
  if (error !== null) return [`${opening}>`, part('error', error.message, error.code, ''), '    </testcase>'];
  const text =
    dataset === undefined ? [...reasons, `answered ${answer}`].join('\n') : rowsText(dataset, result);
  const below = [
    ...properties(scores),
    ...(passed ? [] : [part('failure', reasons[0] ?? '', 'SLIPWAY_CHECK_FAILED', text)]),
    ...(passed && dataset !== undefined ? [`      <system-out>${escaped(text)}</system-out>`] : []),
  ];
  return below.length === 0 ? [`${opening}/>`] : [`${opening}>`, ...below, '    </testcase>'];
}

function properties(scores: readonly EvaluatorScores[]): readonly string[] {
  const each = scores.flatMap(({ evaluator, scores: given }) =>
    given.map((score) => attributes({ name: `score.${evaluator}`, value: score ?? 'none' })),
  );
  if (each.length === 0) return [];
  return [
    '      <properties>',
    ...each.map((fields) => `        <property${fields}/>`),
    '      </properties>',
  ];
}

function rowsText(dataset: DatasetVerdict, { failedRows = [] }: CheckResult): string {
  const more = dataset.made - dataset.passed - failedRows.length;
  return [
    datasetText(dataset),
    ...failedRows.map((row) => `${rowName(row)}: ${row.reasons.join('; ')}; answered ${row.answer}`),
    ...(more > 0 ? [`and ${more} more rows failed`] : []),
  ].join('\n');
}

function part(name: string, message: string, type: string, text: string): string {
  return `      <${name}${attributes({ message, type })}>${escaped(text)}</${name}>`;
}

function attributes(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([name, value]) => ` ${name}="${escaped(String(value)).replaceAll('\n', '&#10;')}"`)
    .join('');
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1_000).toFixed(3);
}

/** XML 1.0 has no way to write most control characters, nor half a character. */
function escaped(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

const ANSWER_MAX_CHARACTERS = 200;

export function resultLines(result: CheckResult, style: Style): readonly string[] {
  const { check, passed, reasons, latencyMs, scores, error, dataset } = result;
  if (error !== null) return [`${style.warn(MARKS.warning)} ${check}: ${error.message} (${error.code})`];
  const mark = style.mark(passed);
  if (dataset !== undefined) return [`${mark} ${check}`, ...rowLines(dataset, result.failedRows ?? [])];
  const answered = fitLine(answeredText(result), ANSWER_MAX_CHARACTERS);
  return [
    `${mark} ${check}, ${formatDuration(latencyMs)}`,
    ...reasons.map((reason) => `    ${reason}`),
    ...(scores === undefined ? [] : [style.faint(`    scored ${scoresText(scores)}`)]),
    ...(passed ? [style.faint(`    answered ${answered}`)] : []),
  ];
}

const ROWS_SHOWN = 20;

function rowLines(
  dataset: DatasetVerdict,
  failed: NonNullable<CheckResult['failedRows']>,
): readonly string[] {
  const more = dataset.made - dataset.passed - Math.min(failed.length, ROWS_SHOWN);
  return [
    `    ${datasetText(dataset)}`,
    ...failed.slice(0, ROWS_SHOWN).map((row) => `    ${rowName(row)}: ${row.reasons.join('; ')}`),
    ...(more > 0 ? [`    and ${counted(more, 'more row')} failed`] : []),
  ];
}

/** Reports checks to CI: those that did not pass at the run, and all of them in the job's summary. */
export async function reportChecksInCi(
  context: CommandContext,
  agent: string,
  results: readonly CheckResult[],
  exitCode: number,
): Promise<void> {
  const log = ciLog(context);
  for (const { check, passed, reasons, error } of results) {
    if (!passed) log.annotate('error', `check "${check}"`, error?.message ?? reasons.join('\n'));
  }
  const rows = results.map(({ check, passed, reasons, scores, error, dataset }) => {
    const verdict =
      error === null ? (passed ? `${MARKS.done} passed` : `${MARKS.failed} failed`) : error.code;
    const why = passed && dataset !== undefined ? datasetText(dataset) : reasons.join('; ');
    return [check, verdict, scoresText(scores ?? []), error?.message ?? why];
  });
  const notPassed = results.filter(({ passed }) => !passed).length;
  const title = `${counted(results.length, 'check')} of ${agent}, ${notPassed} not passed`;
  const summary = summaryOf(exitCode, title, [], table(['check', 'verdict', 'scores', 'why'], rows));
  await writeJobSummary(context, summary, {});
}
