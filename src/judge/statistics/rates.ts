import { compiled, incbi, lgam } from 'cephes';

import type { Change, RateSide } from '../../domain/judge/metric.ts';

await compiled;

/**
 * Fisher's exact test, one-sided: the probability that as few (or fewer) runs of the candidate hold as were seen, if
 * both sides hold equally often, given how many hold in all (the lower tail of the hypergeometric distribution).
 */
export function fisherFewer(baseline: RateSide, candidate: RateSide): number {
  const held = baseline.held + candidate.held;
  const all = baseline.runs + candidate.runs;
  const ways = logChoose(all, held);
  let sum = 0;
  for (let k = Math.max(0, held - baseline.runs); k <= candidate.held; k++) {
    sum += Math.exp(logChoose(candidate.runs, k) + logChoose(baseline.runs, held - k) - ways);
  }
  return Math.min(1, sum);
}

/**
 * The exact bounds of Clopper and Pearson: each leaves the true share out with a probability of at most
 * `1 - confidence`.
 */
export function clopperPearson(
  { held, runs }: RateSide,
  confidence: number,
): { lower: number; upper: number } {
  return {
    lower: held === 0 ? 0 : incbi(held, runs - held + 1, 1 - confidence),
    upper: held === runs ? 1 : incbi(held + 1, runs - held, confidence),
  };
}

/**
 * The difference of two shares, candidate - baseline, with bounds that join each side's exact ones (Newcombe's method
 * of variance recovery over the bounds of Clopper and Pearson): both are seldom at their ends at once. As those are
 * wide rather than narrow, so are these; `docs/judge.md` has how often they hold.
 */
export function rateChange(baseline: RateSide, candidate: RateSide, confidence: number): Change {
  const [before, after] = [baseline.held / baseline.runs, candidate.held / candidate.runs];
  const around = clopperPearson(baseline, confidence);
  const aroundAfter = clopperPearson(candidate, confidence);
  const estimate = after - before;
  return {
    estimate,
    lower: estimate - Math.hypot(after - aroundAfter.lower, around.upper - before),
    upper: estimate + Math.hypot(aroundAfter.upper - after, before - around.lower),
  };
}

function logChoose(n: number, k: number): number {
  return lgam(n + 1) - lgam(k + 1) - lgam(n - k + 1);
}
