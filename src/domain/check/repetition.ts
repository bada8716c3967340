import type { WholeNumber } from '../scalars.ts';
import type { Check } from './check.ts';
import { datasetText, type DatasetVerdict } from './dataset.ts';

export const REPEAT_MAX = 100;

/** A check's repetitions, as its verdict has them. */
export interface Repetitions {
  readonly passed: WholeNumber;
  readonly made: WholeNumber;
  /** How many must pass. */
  readonly needed: WholeNumber;
  /** How many are made at most. */
  readonly planned: WholeNumber;
}

type Asked = Pick<Check, 'repeat' | 'pass'>;

/** How often a check is asked at most, and how often it must pass. */
export function repetitionsOf({ repeat = 1, pass = repeat }: Asked): Pick<Repetitions, 'planned' | 'needed'> {
  return { planned: repeat, needed: pass };
}

/** What repetitions decide: enough have passed; too many have failed; or neither yet. */
export function decisionOf({ passed, made, needed, planned }: Repetitions): 'passed' | 'failed' | 'open' {
  if (passed >= needed) return 'passed';
  return passed + (planned - made) < needed ? 'failed' : 'open';
}

/** Repetitions in words. They end once they are decided, so not all that were planned need be made. */
export function repetitionsText({ passed, made, needed, planned }: Repetitions): string {
  const needs = needed === planned ? `all ${planned} must pass` : `${needed} of ${planned} must pass`;
  return `${passed} of ${made} runs passed, ${needs}`;
}

/** What a check was answered, in words, with how often. Of a dataset: how many rows passed. */
export function answeredText({
  answer,
  repetitions,
  dataset,
}: {
  readonly answer: string;
  readonly repetitions?: Repetitions;
  readonly dataset?: DatasetVerdict;
}): string {
  if (dataset !== undefined) return datasetText(dataset);
  return repetitions === undefined ? answer : `${repetitionsText(repetitions)}: ${answer}`;
}

/** Why repetitions decide nothing; `undefined` if they do. */
export function repetitionProblem({ repeat, pass }: Asked): string | undefined {
  if (pass === undefined) return undefined;
  if (repeat === undefined) return 'has no effect without repeat: set repeat, too';
  return pass > repeat ? `${repeat} runs cannot pass ${pass} times: lower pass, or raise repeat` : undefined;
}
