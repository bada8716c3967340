import type { Instant, WholeNumber } from '../scalars.ts';

/** The rows that a check asks, as a release carries them: the rows themselves are in the artifact store. */
export interface Dataset {
  /** The sha256 of its bytes, by which the artifact store has it. */
  readonly digest: string;
  /** How many rows it has. */
  readonly of: WholeNumber;
  /** How many of them are asked. If not all: a sample. */
  readonly rows: WholeNumber;
  /** The seed of the sample: the same seed draws the same rows. */
  readonly seed: WholeNumber;
  /** How many rows are asked at once. */
  readonly concurrency: WholeNumber;
  /** The share of rows that the agent must be shown to pass. Absent: all rows must pass. */
  readonly passRate?: number;
  /** The rows are not enough to tell: the check passes. Absent: it does not. */
  readonly undecided?: 'pass';
}

/** The most that a dataset may have, and that a check asks of it. */
export const DATASET_MAX = { bytes: 50_000_000, rows: 100_000, asked: 10_000, concurrency: 64 } as const;

/** How sure each bound of a pass rate is. */
export const DATASET_CONFIDENCE = 0.95;

/** What the rows show. `undecided`: they are not enough to tell. */
export type DatasetDecision = 'passed' | 'failed' | 'undecided';

/** What a verdict says of a check's dataset. Its rows are in the artifact store. */
export interface DatasetVerdict extends Pick<Dataset, 'digest' | 'of' | 'rows' | 'seed' | 'passRate'> {
  readonly decision: DatasetDecision;
  /** How many rows were asked: fewer than planned if failing was certain before. */
  readonly made: WholeNumber;
  readonly passed: WholeNumber;
  /** Between which shares the agent's pass rate lies, each bound at 95 %. Absent: all rows must pass. */
  readonly bounds?: { readonly lower: number; readonly upper: number };
  /** How many rows count by their expectation alone, because an evaluator gave no score, and why the first. Absent: none. */
  readonly unscored?: { readonly rows: WholeNumber; readonly why: string };
  /** The name of the record with the result of each row. Absent: none is kept. */
  readonly results?: string;
}

export interface RowResult extends ShownRun {
  /** The row's own id, or one made of its input. */
  readonly id: string;
  /** The row's line in the dataset, from 1. */
  readonly line: WholeNumber;
  /** The tokens that the agent's messages report. */
  readonly tokens: WholeNumber;
  /** Why an evaluator gave no score. Absent: all gave one. */
  readonly noScore?: string;
}

/** The results of a dataset's rows, as the artifact store keeps them, in the order of the dataset. */
export interface DatasetResults {
  readonly check: string;
  readonly dataset: Pick<Dataset, 'digest' | 'of' | 'rows' | 'seed'>;
  readonly rows: readonly RowResult[];
}

export function datasetText(verdict: DatasetVerdict): string {
  const { made, rows, of, passed, passRate, bounds, decision, unscored } = verdict;
  const sampled = rows < of ? `, a sample of ${of}` : '';
  const asked = made < rows ? `${made} rows asked of ${rows}` : `${rows} rows`;
  const counted = `${passed} of ${asked} passed${sampled}`;
  const without = unscored === undefined ? '' : `; ${unscored.rows} without a score: ${unscored.why}`;
  if (passRate === undefined || bounds === undefined) return `${counted}; all must pass${without}`;
  const between = `between ${percent(bounds.lower)} and ${percent(bounds.upper)}`;
  const tells = decision === 'undecided' ? ', which is not enough to tell' : '';
  return `${counted}; the pass rate is ${between}, ${percent(passRate)} is needed${tells}${without}`;
}

const SHOWN_ROWS = 3;

/** Why a dataset's check did not pass: how many rows did, and why the first rows failed. */
export function datasetReasons(verdict: DatasetVerdict, rows: readonly RowResult[]): readonly string[] {
  const failed = rows.filter(({ passed }) => !passed);
  const shown = failed.slice(0, SHOWN_ROWS).map((row) => `${rowName(row)}: ${row.reasons.join('; ')}`);
  const more = failed.length - shown.length;
  return [datasetText(verdict), ...shown, ...(more === 0 ? [] : [`and ${more} more rows failed`])];
}

export function rowName({ id, line }: Pick<RowResult, 'id' | 'line'>): string {
  return `row ${JSON.stringify(id)} (line ${line})`;
}

/** A share as a percentage, with at most one decimal. */
export function percent(share: number): string {
  return `${Number((share * 100).toFixed(1))} %`;
}

/** How many rows it takes at least to show a pass rate, if all of them pass. */
export function fewestRowsToShow(passRate: number): WholeNumber {
  return Math.ceil(Math.log(1 - DATASET_CONFIDENCE) / Math.log(passRate));
}

/** Why the rows of a dataset can never decide; `undefined` if they can. */
export function datasetProblem({
  rows,
  passRate,
  undecided,
}: Pick<Dataset, 'rows' | 'passRate' | 'undecided'>): string | undefined {
  if (passRate === undefined || undecided === 'pass') return undefined;
  const fewest = fewestRowsToShow(passRate);
  if (rows >= fewest) return undefined;
  return `even if all ${rows} rows pass, that does not show ${percent(passRate)}: it takes ${fewest} rows, or a lower passRate, or undecided: pass`;
}

/** The digests of the datasets of checks, each once. */
export function datasetDigests(
  checks: readonly { readonly dataset?: Pick<Dataset, 'digest'> }[],
): readonly string[] {
  return [...new Set(checks.flatMap(({ dataset }) => (dataset === undefined ? [] : [dataset.digest])))];
}

/** The records of decided datasets. No target's name begins with `_`, so they collide with no release's. */
export const ROW_RESULTS = '_rows/';

/** The batches of results while rows are asked. A canceled check leaves them. */
export const ROWS_UNDER_WAY = '_rows_under_way/';

/** The rows of a dataset that have a result. It is JSON, so that another process can continue it. */
export interface DatasetProgress {
  readonly rows: readonly RowResult[];
  /** How long they took, in milliseconds. */
  readonly timeMs: number;
}

export interface RowBatch extends DatasetProgress {
  readonly at: Instant;
}

export const NO_ROWS: DatasetProgress = { rows: [], timeMs: 0 };

/** A judged run, as a verdict shows it. */
export interface ShownRun {
  readonly passed: boolean;
  /** Why it failed: one sentence for each expectation that was not met. */
  readonly reasons: readonly string[];
  /** The agent's answer, cut to a few hundred bytes. */
  readonly answer: string;
  /** The record in the artifact store with the whole answer. Absent: `answer` is the whole, or it was not stored. */
  readonly answerRecord?: string;
  readonly runId: string | null;
  readonly latencyMs: number;
  /** Whether the verdict was recorded on the run's trace. `null`: the check has no `feedbackKey`. */
  readonly feedbackRecorded: boolean | null;
}
