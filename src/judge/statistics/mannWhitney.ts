import { createRequire } from 'node:module';

import type { Change } from '../../domain/judge/metric.ts';

interface MannWhitney {
  /** The number of pairs in which the candidate's value is larger. A tie counts half. */
  readonly u: number;
  /** The probability of this `u` or a larger one if both samples had the same distribution (one-sided). */
  readonly pLarger: number;
}

/** Sorted ascending. */
export type Sorted = Float64Array;

/** The largest samples for which the exact distribution of U is computed. Published tables end here, too. */
const EXACT_MAX = 20;

/**
 * The Mann-Whitney U test, one-sided: is the candidate's distribution shifted upwards? Exact for at most 20 values
 * without ties; else the normal approximation, corrected for ties and continuity. No maintained library has both the
 * test and its interval.
 */
export function mannWhitney(baseline: Sorted, candidate: Sorted): MannWhitney {
  const { u, tieTerm } = countLarger(baseline, candidate);
  const [m, n] = [baseline.length, candidate.length];
  if (tieTerm === 0 && isExact(m, n)) return { u, pLarger: atMost(m * n - u, m, n) };
  const all = m + n;
  const variance = ((m * n) / 12) * (all + 1 - tieTerm / (all * (all - 1)));
  // All values are equal: there is no evidence of a shift.
  if (variance === 0) return { u, pLarger: 1 };
  return { u, pLarger: ndtr(-(u - (m * n) / 2 - CONTINUITY) / Math.sqrt(variance)) };
}

/** The largest U whose one-sided probability is at most `level`; -1 if the samples are too small. */
export function criticalU(m: number, n: number, level: number): number {
  if (!isExact(m, n)) {
    const deviation = Math.sqrt((m * n * (m + n + 1)) / 12);
    return Math.max(-1, Math.floor((m * n) / 2 + ndtri(level) * deviation - CONTINUITY));
  }
  let critical = -1;
  while (atMost(critical + 1, m, n) <= level) critical += 1;
  return critical;
}

/** The continuity correction: U is a whole number, and the normal distribution is continuous. */
const CONTINUITY = 0.5;

function isExact(m: number, n: number): boolean {
  return m <= EXACT_MAX && n <= EXACT_MAX;
}

/** U, and the sum of t³ - t over the groups of t tied values, in one pass over both samples. */
function countLarger(baseline: Sorted, candidate: Sorted): { u: number; tieTerm: number } {
  let u = 0;
  let tieTerm = 0;
  let [i, j] = [0, 0];
  while (i < baseline.length || j < candidate.length) {
    const value = Math.min(baseline[i] ?? Infinity, candidate[j] ?? Infinity);
    const below = i;
    const first = j;
    while (baseline[i] === value) i += 1;
    while (candidate[j] === value) j += 1;
    u += (j - first) * (below + (i - below) / 2);
    const tied = i - below + (j - first);
    tieTerm += tied ** 3 - tied;
  }
  return { u, tieTerm };
}

const distributions = new Map<string, readonly number[]>();

/** The probability that U is at most `u` for two samples from one distribution, without ties. */
function atMost(u: number, m: number, n: number): number {
  const key = `${m} ${n}`;
  const cumulated = distributions.get(key) ?? cumulatedCounts(m, n);
  distributions.set(key, cumulated);
  return cumulated[Math.min(u, cumulated.length - 1)] ?? 0;
}

/**
 * The cumulated shares of the orders of m + n values with U = 0, 1, …, by the recurrence of Mann and Whitney (1947):
 * the largest value belongs either to one sample, where it is larger than all m of the other, or to the other.
 */
function cumulatedCounts(m: number, n: number): number[] {
  // counts[j][u]: the orders of the first sample's values so far with j of the second.
  let counts = Array.from({ length: n + 1 }, () => [1]);
  for (let i = 1; i <= m; i++) {
    const next: number[][] = [[1]];
    for (let j = 1; j <= n; j++) {
      const ofSecond = next[j - 1] ?? [];
      const ofFirst = counts[j] ?? [];
      next.push(Array.from({ length: i * j + 1 }, (_, u) => (ofSecond[u - i] ?? 0) + (ofFirst[u] ?? 0)));
    }
    counts = next;
  }
  const orders = counts[n] ?? [];
  const total = orders.reduce((sum, count) => sum + count, 0);
  let sum = 0;
  return orders.map((count) => (sum += count) / total);
}

/**
 * How far the candidate's values are above the baseline's: the median of all pairwise differences (Hodges-Lehmann),
 * with the bounds that the Mann-Whitney U test does not reject, each at the one-sided `confidence`. Does not store
 * the pairs.
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

/** After this many halvings, the range is smaller than a number's precision. */
const HALVINGS = 128;

/** The difference candidate - baseline with a rank (from 1) among all pairs, found by bisection. */
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

/** The number of pairs whose difference candidate - baseline is at most `limit`. */
function pairsAtMost(baseline: Sorted, candidate: Sorted, limit: number): number {
  let pairs = 0;
  let within = 0;
  for (const value of baseline) {
    while (within < candidate.length && (candidate[within] ?? Infinity) - value <= limit) within += 1;
    pairs += within;
  }
  return pairs;
}

interface Cephes {
  /** The standard normal distribution: the probability of at most `x`. */
  readonly ndtr: (x: number) => number;
  /** The inverse of {@link ndtr}. */
  readonly ndtri: (probability: number) => number;
  /** The quantile of the beta distribution. */
  readonly incbi: (a: number, b: number, probability: number) => number;
  /** The logarithm of the gamma function. */
  readonly lgam: (x: number) => number;
}

/** The used functions of the Cephes library. Its CommonJS build is ready at once; its ES module must be awaited. */
const { ndtr, ndtri, incbi, lgam } = createRequire(import.meta.url)('cephes') as Cephes;

export { incbi, lgam };
