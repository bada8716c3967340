import type { Answered, CheckedAgent } from '../../../check/askAgent.ts';
import type { Evaluating } from '../../../check/evaluate.ts';
import { chosenRows, datasetRows } from '../../../check/datasetRows.ts';
import type { ChecksBudget, Spent } from '../../../domain/check/budget.ts';
import type { Check } from '../../../domain/check/check.ts';
import type { Dataset } from '../../../domain/check/dataset.ts';
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
  agent,
  check,
  dataset,
  source,
  budget,
  evaluating,
  signal,
  onRows,
}: {
  readonly agent: CheckedAgent;
  readonly check: Check;
  readonly dataset: Dataset;
  readonly source: DatasetSource;
  readonly budget: ChecksBudget | undefined;
  readonly evaluating: Evaluating;
  readonly signal: AbortSignal;
  readonly onRows: (text: string) => void;
}): Promise<{ readonly result: CheckResult; readonly spent: Spent }> {
  const { askDataset } = await import('../../../check/askDataset.ts');
  const rows = await chosenRows(
    datasetRows(await source.open(), source.name, check),
    dataset.rows,
    dataset.seed,
  );
  const asked = await askDataset({
    check,
    dataset,
    rows,
    begun: NO_ROWS,
    budget,
    toTheEnd: true,
    signal,
    agent,
    evaluating,
    onAnswered: shownRun,
    onResult: (_, progress) => {
      onRows(`${check.name}: ${progress.rows.length} of ${rows.length} rows`);
      return Promise.resolve();
    },
  }).finally(() => onRows(''));
  const { passed, reasons, answer, runId, latencyMs, dataset: found } = asked.verdict;
  const failed = asked.rows.filter((row) => !row.passed).slice(0, FAILED_ROWS_MAX);
  return {
    result: {
      check: check.name,
      passed,
      reasons,
      answer,
      runId,
      latencyMs,
      dataset: found,
      failedRows: failed.map((row) => ({
        id: row.id,
        line: row.line,
        reasons: row.reasons,
        answer: row.answer,
        runId: row.runId,
      })),
      error: null,
    },
    spent: asked.spent,
  };
}
