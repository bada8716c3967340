import { type Side, SIDES } from '../domain/judge/report.ts';
import type { Input } from './inputs.ts';
import { type Random, shuffled } from './random.ts';

/** One run to be made. */
export interface PlannedTrial {
  readonly place: number;
  readonly side: Side;
  readonly input: Input;
}

/**
 * Every run of a judgement in its order: the inputs, as often as they are repeated, each time in another order; each on
 * both sides right after one another, in an order that is drawn. So both sides see the same inputs under the same load,
 * and what changes in the meantime changes for both.
 */
export function planTrials(inputs: readonly Input[], repetitions: number, random: Random): PlannedTrial[] {
  const rounds = Array.from({ length: repetitions }, () => shuffled(inputs, random));
  return rounds
    .flat()
    .flatMap((input) => shuffled(SIDES, random).map((side) => ({ side, input })))
    .map((trial, place) => ({ place, ...trial }));
}
