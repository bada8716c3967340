import { createHash } from 'node:crypto';

/**
 * Draws that depend on a seed and on what is drawn for, and on nothing else: the third PATCH meets the same fault in
 * every run of a seed, however the processes interleave.
 */
export class Random {
  readonly #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** A number from 0 up to, not including, 1, of its own for each subject. */
  fraction(subject: string): number {
    const digest = createHash('sha256').update(`${this.#seed} ${subject}`).digest();
    return digest.readUInt32BE(0) / 2 ** 32;
  }

  /** A number between two. */
  between(low: number, high: number, subject: string): number {
    return low + (high - low) * this.fraction(subject);
  }

  /** Whether something happens that happens this often, from 0 to 1. */
  chance(share: number, subject: string): boolean {
    return this.fraction(subject) < share;
  }

  /** One of several, each as likely as its weight. */
  pick<T>(choices: readonly (readonly [weight: number, choice: T])[], subject: string): T {
    const total = choices.reduce((sum, [weight]) => sum + weight, 0);
    let left = this.fraction(subject) * total;
    for (const [weight, choice] of choices) {
      left -= weight;
      if (left < 0) return choice;
    }
    throw new Error('there is nothing to choose from');
  }
}
