import { DATASET_CONFIDENCE, type DatasetDecision } from '../domain/check/dataset.ts';
import { clopperPearson } from '../judge/statistics/compare.ts';

/** How many rows of a dataset were asked, and how many of them passed. */
export interface RowTally {
  readonly passed: number;
  readonly made: number;
  readonly planned: number;
}

/** What the rows show so far. */
export interface SoFar {
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
