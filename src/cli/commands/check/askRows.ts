import { pick } from '@slipway/contract/pick';

import type { Answered } from '../../../check/askAgent.ts';
import type { AskDataset } from '../../../check/askDataset.ts';
import { chosenRows, datasetRows } from '../../../check/datasetRows.ts';
import type { Spent } from '../../../domain/check/budget.ts';
import type { ShownRun } from '../../../domain/check/shownRun.ts';
import { NO_ROWS } from '../../../domain/check/rowRecords.ts';
import type { DatasetSource } from '../../datasets/datasetSource.ts';
import type { CheckResult } from '../../events/checks.ts';

const FAILED_ROWS_MAX = 100;

/** What a result shows of an answer, without an artifact store or a trace to record it in. */
export function shownRun({ judgement: { passed, reasons, answer }, seen }: Answered): Promise<ShownRun> {
  const { runId, run } = seen;
  return Promise.resolve({
    passed,
    reasons,
    answer,
    runId,
    latencyMs: run.latencyMs,
    feedbackRecorded: null,
  });
}

/** Asks an agent all rows of a check's dataset, also if failing is certain before. */
export async function askRows({
  source,
  onRows,
  ...asking
}: Omit<AskDataset, 'rows' | 'begun' | 'toTheEnd' | 'onAnswered' | 'onResult'> & {
  readonly source: DatasetSource;
  readonly onRows: (text: string) => void;
}): Promise<{ readonly result: CheckResult; readonly spent: Spent }> {
  const { askDataset } = await import('../../../check/askDataset.ts');
  const { check, dataset } = asking;
  const rows = await chosenRows(
    datasetRows(await source.open(), source.name, check),
    dataset.rows,
    dataset.seed,
  );
  const asked = await askDataset({
    ...asking,
    rows,
    begun: NO_ROWS,
    toTheEnd: true,
    onAnswered: shownRun,
    onResult: (_, progress) => {
      onRows(`${check.name}: ${progress.rows.length} of ${rows.length} rows`);
      return Promise.resolve();
    },
  }).finally(() => onRows(''));
  const failed = asked.rows.filter((row) => !row.passed).slice(0, FAILED_ROWS_MAX);
  return {
    result: {
      check: check.name,
      ...pick(asked.verdict, 'passed', 'reasons', 'answer', 'runId', 'latencyMs', 'dataset'),
      failedRows: failed.map((row) => pick(row, 'id', 'line', 'reasons', 'answer', 'runId')),
      error: null,
    },
    spent: asked.spent,
  };
}
