/** The part of the Cephes library that is used. Its own types are not found under `nodenext`. */
declare module 'cephes' {
  /** Resolves when the functions may be called. */
  export const compiled: Promise<void>;
  /** The standard normal distribution: the probability of at most `x`. */
  export function ndtr(x: number): number;
  /** The inverse of {@link ndtr}. */
  export function ndtri(probability: number): number;
  /** The quantile of the beta distribution. */
  export function incbi(a: number, b: number, probability: number): number;
  /** The logarithm of the gamma function. */
  export function lgam(x: number): number;
}
