import { datasetText, type DatasetVerdict, rowName } from '../../../domain/check/dataset.ts';
import { scoresText } from '../../../domain/check/evaluator.ts';
import { answeredText } from '../../../domain/check/repetition.ts';
import { formatDuration } from '../../../domain/duration.ts';
import { ciLog, writeJobSummary } from '../../ci/reportInCi.ts';
import { summaryOf, table } from '../../ci/markdown.ts';
import type { CommandContext } from '../../context.ts';
import type { CheckResult } from '../../events/checks.ts';
import { fitLine } from '../../ui/progressLines.ts';
import { MARKS, type Style } from '../../ui/style.ts';
import { counted } from '../../ui/text.ts';

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
