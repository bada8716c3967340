import { setTimeout as sleep } from 'node:timers/promises';

import { ServiceError } from '../clients/serviceError.ts';
import { type ChecksBudget, overBudget, type Spent } from '../domain/check/budget.ts';
import type { Check } from '../domain/check/check.ts';
import {
  type Dataset,
  DATASET_CONFIDENCE,
  type DatasetDecision,
  type DatasetProgress,
  datasetReasons,
  type DatasetVerdict,
  type RowResult,
  type ShownRun,
} from '../domain/check/dataset.ts';
import { SlipwayError } from '../domain/errors.ts';
import { PASSING } from '../domain/failure.ts';
import { inParallel } from '../judge/inParallel.ts';
import { clopperPearson } from '../judge/statistics/compare.ts';
import { type Answered, askAgent, type CheckedAgent } from './askAgent.ts';
import type { CarriedOut } from './carryOut.ts';
import { type DatasetRow, rowCheck } from './datasetRows.ts';
import { evaluate, type Evaluating } from './evaluate.ts';

/** What asking the rows of a dataset needs. */
export interface AskDataset {
  readonly check: Check;
  readonly dataset: Dataset;
  readonly rows: readonly DatasetRow[];
  /** The progress of an earlier process. */
  readonly begun: DatasetProgress;
  readonly budget: ChecksBudget | undefined;
  readonly agent: CheckedAgent;
  readonly evaluating: Evaluating;
  /** Stores the answer to a row, and returns what results show of it. */
  readonly onAnswered: (answered: Answered) => Promise<ShownRun>;
  /** Keeps a result. Another row is asked in its place only after this has returned. */
  readonly onResult: (result: RowResult, progress: DatasetProgress) => Promise<void>;
  /** Ask all rows, also if failing is certain before. */
  readonly toTheEnd: boolean;
  /** Called at the end with what was used, also of a check that is not decided. */
  readonly onSpent: (spent: Spent) => void;
  readonly signal: AbortSignal;
}

/** A dataset that is decided. The rest is of the first row that failed, or else of the last. */
export interface AskedDataset extends CarriedOut {
  readonly dataset: DatasetVerdict;
}

/**
 * Asks the rows of a dataset, several at once, until all have a result or failing is certain.
 * @throws SLIPWAY_CHECKS_BUDGET_SPENT; what `askAgent`, `evaluate`, `onAnswered` and `onResult` throw. Rows under way are canceled then.
 */
export async function askDataset(options: AskDataset): Promise<{
  readonly verdict: AskedDataset;
  readonly rows: readonly RowResult[];
}> {
  const { check, dataset, rows, begun, budget, evaluating, toTheEnd, signal } = options;
  const began = performance.now();
  const known = new Map(begun.rows.map((row) => [row.id, row]));
  const results = new Map(rows.flatMap(({ id }) => known.get(id) ?? []).map((row) => [row.id, row]));
  let underWay = 0;
  let runs = results.size;
  let tokens = sumOf(results.values(), (row) => row.tokens);
  let over: string | undefined;
  const spent = (): Spent => ({ timeMs: begun.timeMs + performance.now() - began, runs, tokens });
  const soFar = (): SoFar => datasetDecision(tallyOf(results, rows.length), dataset.passRate);
  const left = rows.filter(({ id }) => !results.has(id));
  await inParallel(left, dataset.concurrency, signal, async (row, ended) => {
    if (over !== undefined || (!toTheEnd && soFar().decision !== 'open')) return;
    const asked = rowCheck(check, row);
    const taken = spent();
    over =
      budget === undefined ? undefined : overBudget(budget, { ...taken, runs: taken.runs + underWay }, asked);
    if (over !== undefined) return;
    underWay += 1;
    const run = await askRow(options, asked, ended);
    underWay -= 1;
    runs += run.runs;
    tokens += run.tokens;
    const { answered, scores = [] } = await evaluate(asked, run, { made: 0 }, evaluating, ended);
    const shown = await options.onAnswered(answered);
    const noScore = scores.find((score) => score.noScore !== null)?.noScore ?? undefined;
    const result = { id: row.id, line: row.line, ...shown, tokens: answered.tokens, noScore };
    await options.onResult(result, { rows: [...results.values(), result], timeMs: spent().timeMs });
    results.set(row.id, result);
  }).finally(() => options.onSpent(spent()));
  const { decision, bounds } = soFar();
  const inOrder = rows.flatMap(({ id }) => results.get(id) ?? []);
  if (decision === 'open') throw budgetSpent(check, over ?? 'more runs', inOrder);
  const { digest, of, seed, passRate } = dataset;
  const { made, passed } = tallyOf(results, rows.length);
  const found: DatasetVerdict = {
    digest,
    of,
    rows: rows.length,
    seed,
    passRate,
    decision,
    made,
    passed,
    bounds,
    unscored: unscoredOf(inOrder),
  };
  return { verdict: verdictOf(found, dataset, inOrder), rows: inOrder };
}

function unscoredOf(rows: readonly RowResult[]): DatasetVerdict['unscored'] {
  const missing = rows.flatMap(({ noScore }) => noScore ?? []);
  const [why] = missing;
  return why === undefined ? undefined : { rows: missing.length, why };
}

function verdictOf(found: DatasetVerdict, { undecided }: Dataset, rows: readonly RowResult[]): AskedDataset {
  const passed = found.decision === 'passed' || (found.decision === 'undecided' && undecided === 'pass');
  const shown = rows.find((row) => !row.passed) ?? rows.at(-1);
  if (shown === undefined) throw new TypeError('a dataset has at least one row');
  const { id: _id, line: _line, tokens: _tokens, noScore: _noScore, ...run } = shown;
  const recorded = rows.map(({ feedbackRecorded }) => feedbackRecorded);
  return {
    ...run,
    passed,
    reasons: passed ? [] : datasetReasons(found, rows),
    feedbackRecorded: recorded.includes(null) ? null : recorded.every((each) => each === true),
    dataset: found,
  };
}

/** A row is one run without a thread. */
const NO_THREAD = { id: '', onLeft: () => undefined };

const TRIES = 3;
const PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 10_000;

/** Asks one row. An agent that cannot be asked is asked again, so that one lost run does not end a long dataset's attempt. */
async function askRow({ agent }: AskDataset, check: Check, signal: AbortSignal): Promise<Answered> {
  for (let tries = 1; ; tries++) {
    try {
      return await askAgent(agent, check, NO_THREAD, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (tries === TRIES || !(error instanceof SlipwayError) || !PASSING.has(error.code)) throw error;
      const asked = error instanceof ServiceError ? error.retryAfterMs : undefined;
      await sleep(Math.min(asked ?? PAUSE_MS * tries, LONGEST_PAUSE_MS), undefined, { signal });
    }
  }
}

function tallyOf(results: ReadonlyMap<string, RowResult>, planned: number) {
  return { passed: sumOf(results.values(), ({ passed }) => Number(passed)), made: results.size, planned };
}

function sumOf(rows: Iterable<RowResult>, value: (row: RowResult) => number): number {
  let sum = 0;
  for (const row of rows) sum += value(row);
  return sum;
}

function budgetSpent({ name }: Check, over: string, rows: readonly RowResult[]): SlipwayError {
  const passed = rows.filter((row) => row.passed).length;
  return new SlipwayError(
    'SLIPWAY_CHECKS_BUDGET_SPENT',
    `the budget of the checks has no room for the rows of "${name}": it takes ${over}; ${passed} of ${rows.length} rows passed`,
    { hint: 'raise checksBudget in slipway.yaml, or ask fewer rows: dataset.sample' },
  );
}

/** How many rows of a dataset were asked, and how many of them passed. */
interface RowTally {
  readonly passed: number;
  readonly made: number;
  readonly planned: number;
}

/** What the rows show so far. */
interface SoFar {
  /** `open`: not all rows are asked, and they may still decide otherwise. */
  readonly decision: DatasetDecision | 'open';
  /** Between which shares the pass rate lies, each bound at 95 %. Rows that were not asked count as either. */
  readonly bounds?: { readonly lower: number; readonly upper: number };
}

/**
 * What the rows of a dataset show of an agent's pass rate, by the exact bounds of Clopper and Pearson. It has passed if the
 * lower bound reaches the rate, and failed if the upper bound is below it. It has failed as soon as rows that are not asked
 * yet cannot change that; it has passed only when all are asked, because each row's result is kept.
 * @param passRate - `undefined`: all rows must pass, so there is nothing to estimate.
 */
export function datasetDecision({ passed, made, planned }: RowTally, passRate: number | undefined): SoFar {
  const left = planned - made;
  if (passRate === undefined) {
    if (passed < made) return { decision: 'failed' };
    return { decision: left > 0 ? 'open' : 'passed' };
  }
  const at = (held: number) => clopperPearson({ held, runs: planned }, DATASET_CONFIDENCE);
  const bounds = { lower: at(passed).lower, upper: at(passed + left).upper };
  if (bounds.upper < passRate) return { decision: 'failed', bounds };
  if (left > 0) return { decision: 'open', bounds };
  return { decision: bounds.lower >= passRate ? 'passed' : 'undecided', bounds };
}
