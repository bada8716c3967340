import { createHash } from 'node:crypto';

/** Draws that depend only on the seed and the subject: the third PATCH always meets the same fault. */
export class Random {
  readonly #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** A number from 0 (inclusive) to 1 (exclusive), independent for each subject. */
  fraction(subject: string): number {
    const digest = createHash('sha256').update(`${this.#seed} ${subject}`).digest();
    return digest.readUInt32BE(0) / 2 ** 32;
  }

  between(low: number, high: number, subject: string): number {
    return low + (high - low) * this.fraction(subject);
  }

  /** True with this probability, from 0 to 1. */
  chance(share: number, subject: string): boolean {
    return this.fraction(subject) < share;
  }

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
