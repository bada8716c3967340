import { figure, type WholeNumber } from '../scalars.ts';
import type { SecretReference } from '../target/targetSpec.ts';

/** An HTTP service that scores runs (docs/evaluators.md). */
export interface ScoringService {
  readonly name: string;
  readonly url: string;
  /** The key of the requests' signature. Absent: they are not signed. */
  readonly secret?: SecretReference;
  /** How long one call may take. */
  readonly timeoutMs: WholeNumber;
}

/** What a check does with a run that an evaluator gave no score: it counts by its expectation, or the check ends. */
export const ON_NO_SCORE = ['pass', 'fail'] as const;

/** An evaluator of a check. */
export interface Evaluator extends ScoringService {
  /** A run passes with this score or a higher one. */
  readonly minScore: number;
  readonly onNoScore: (typeof ON_NO_SCORE)[number];
}

export const EVALUATORS_MAX = 10;

/** How often an evaluator is called for one score, if it does not answer or asks to wait. */
export const EVALUATOR_CALLS = 5;

/** The longest wait between two calls, in milliseconds. An evaluator that asks for more gives no score. */
export const EVALUATOR_WAIT_MAX_MS = 30_000;

/** How long one score may take, with all calls and waits, in milliseconds. */
export function longestScoreMs({ timeoutMs }: Pick<ScoringService, 'timeoutMs'>): number {
  return EVALUATOR_CALLS * timeoutMs + (EVALUATOR_CALLS - 1) * EVALUATOR_WAIT_MAX_MS;
}

export interface RunScore {
  /** From 0 to 1. */
  readonly score: number;
  readonly comment: string | null;
}

/** What an evaluator said about the runs of a check. */
export interface EvaluatorScores {
  readonly evaluator: string;
  readonly minScore: number;
  /** One for each run that met its expectation, in their order, from 0 to 1. `null`: it gave none. */
  readonly scores: readonly (number | null)[];
  /** What it said about the run with the lowest score. `null`: nothing. */
  readonly comment: string | null;
  /** Why it gave no score the last time that it gave none. `null`: it always gave one. */
  readonly noScore: string | null;
}

/**
 * Adds what an evaluator says about one more run.
 * @param said - a score, or why there is none.
 */
export function withScore(
  { name, minScore }: Evaluator,
  before: readonly EvaluatorScores[],
  said: RunScore | string,
): EvaluatorScores {
  const known = before.find(({ evaluator }) => evaluator === name);
  const { scores, comment, noScore } = known ?? { scores: [], comment: null, noScore: null };
  if (typeof said === 'string') {
    return { evaluator: name, minScore, scores: [...scores, null], comment, noScore: said };
  }
  const isLowest = scores.every((score) => score === null || score > said.score);
  return {
    evaluator: name,
    minScore,
    scores: [...scores, said.score],
    comment: isLowest ? said.comment : comment,
    noScore,
  };
}

/** Why a run does not pass an evaluator; `undefined` if it passes. */
export function scoreProblem(
  { name, minScore }: Evaluator,
  { score, comment }: RunScore,
): string | undefined {
  if (score >= minScore) return undefined;
  const why = comment === null ? '' : `: ${comment}`;
  const rounded = figure(score);
  const shown = Number(rounded) < minScore ? rounded : String(score);
  return `evaluator "${name}" scored ${shown}, at least ${minScore} is needed${why}`;
}

/** Scores in words: `tone 0.7 to 0.9, facts none (…)`. */
export function scoresText(scores: readonly EvaluatorScores[]): string {
  return scores.map(ofEvaluator).join(', ');
}

function ofEvaluator({ evaluator, scores, noScore }: EvaluatorScores): string {
  const given = scores.filter((score) => score !== null);
  const [least, most] = [Math.min(...given), Math.max(...given)];
  const range = least === most ? figure(least) : `${figure(least)} to ${figure(most)}`;
  if (noScore === null) return `${evaluator} ${range}`;
  const why = `(${noScore})`;
  if (given.length === 0) return `${evaluator} no score ${why}`;
  return `${evaluator} ${range} in ${given.length} of ${scores.length} runs ${why}`;
}
