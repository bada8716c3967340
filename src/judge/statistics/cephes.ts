import { createRequire } from 'node:module';

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
export const { ndtr, ndtri, incbi, lgam } = createRequire(import.meta.url)('cephes') as Cephes;
