import type { Change } from '../../domain/judge/metric.ts';
import { criticalU, type Sorted } from './mannWhitney.ts';

/**
 * By how much the candidate's values lie above the baseline's: the median of all pairwise differences (Hodges and
 * Lehmann), with the bounds that the Mann-Whitney U test does not reject, each at the one-sided `confidence`. So a bound
 * lies beyond a value exactly where the test, with that value taken off the candidate, rejects it.
 *
 * Takes time in proportion to the number of values, and no memory for the pairs.
 */
export function shiftOf(baseline: Sorted, candidate: Sorted, confidence: number): Change {
  const pairs = baseline.length * candidate.length;
  const at = (rank: number): number => differenceOfRank(baseline, candidate, rank);
  const critical = criticalU(baseline.length, candidate.length, 1 - confidence);
  return {
    estimate: (at(Math.ceil(pairs / 2)) + at(Math.floor(pairs / 2) + 1)) / 2,
    lower: critical < 0 ? null : at(critical + 1),
    upper: critical < 0 ? null : at(pairs - critical),
  };
}

/** Halving the range this often leaves nothing of it that a number could tell. */
const HALVINGS = 128;

/** The difference candidate - baseline of a rank (from 1) among those of all pairs, found by halving its range. */
function differenceOfRank(baseline: Sorted, candidate: Sorted, rank: number): number {
  let low = (candidate[0] ?? 0) - (baseline.at(-1) ?? 0);
  let high = (candidate.at(-1) ?? 0) - (baseline[0] ?? 0);
  if (pairsAtMost(baseline, candidate, low) >= rank) return low;
  for (let halvings = 0; halvings < HALVINGS; halvings++) {
    const middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    if (pairsAtMost(baseline, candidate, middle) >= rank) high = middle;
    else low = middle;
  }
  return high;
}

/** In how many pairs the difference candidate - baseline is at most `limit`. */
function pairsAtMost(baseline: Sorted, candidate: Sorted, limit: number): number {
  let pairs = 0;
  let within = 0;
  for (const value of baseline) {
    while (within < candidate.length && (candidate[within] ?? Infinity) - value <= limit) within += 1;
    pairs += within;
  }
  return pairs;
}
