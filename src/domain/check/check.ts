import type { WholeNumber } from '../scalars.ts';
import type { Dataset } from './dataset.ts';
import type { Evaluator } from './evaluator.ts';
import type { Expectation } from './expectation.ts';

/** One smoke test: a real run on the deployed agent, with an expectation; or several, one after another on one thread. */
export interface Check {
  readonly name: string;
  /** The graph's name, or an assistant id. */
  readonly assistant: string;
  /** Of a check with `turns` or `dataset`: nothing. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Of a check with `turns`: nothing. */
  readonly expect: Expectation;
  /** A conversation: the first turn that does not meet its expectation ends it. */
  readonly turns?: readonly Turn[];
  /** They score each run that meets its expectation. */
  readonly evaluators?: readonly Evaluator[];
  /** What evaluators compare the answer with. */
  readonly reference?: unknown;
  /** Rows with an input each, which are asked one by one. `expect` applies to each of them. */
  readonly dataset?: Dataset;
  /** How often it is asked at most: it ends once it is decided. Default: 1. */
  readonly repeat?: WholeNumber;
  /** How many of them must pass. Default: all. */
  readonly pass?: WholeNumber;
  /** How long a run may take. */
  readonly timeoutMs: WholeNumber;
  /** The feedback key under which the verdict is recorded on the run's trace. */
  readonly feedbackKey?: string;
}

/** One run of a conversation: either it has an input, or it resumes the run before, which was interrupted. */
export interface Turn {
  readonly input?: Readonly<Record<string, unknown>>;
  /** The value that the interrupt returns. */
  readonly resume?: unknown;
  readonly expect: Expectation;
}

export interface ObservedRun {
  /** `unreadable`: an event of its stream cannot be read, so its end is unknown. */
  readonly status: 'success' | 'error' | 'interrupted' | 'timeout' | 'unreadable';
  /** The run's final values, as far as they came. */
  readonly values: unknown;
  /** The error that the run reported, or why its stream cannot be read. */
  readonly error?: string;
  readonly latencyMs: number;
}

export const TURNS_MAX = 50;

/** How many runs of an agent asking a check once takes at most. */
export function runsOfOne({ turns }: Pick<Check, 'turns'>): WholeNumber {
  return turns?.length ?? 1;
}

/** Whether a check is decided by one run, without other services. */
export function isOneRun({ turns, repeat = 1, dataset, evaluators }: Check): boolean {
  return turns === undefined && repeat === 1 && dataset === undefined && evaluators === undefined;
}

/** What is wrong with the order of turns: which one, and why; `undefined` if nothing is. */
export function turnProblem(
  turns: readonly Turn[],
): { readonly turn: number; readonly field: 'input' | 'resume'; readonly message: string } | undefined {
  for (const [turn, { input, resume }] of turns.entries()) {
    const before = turns[turn - 1];
    if ((input === undefined) === (resume === undefined)) {
      return { turn, field: 'input', message: 'expected an input, or resume, and not both' };
    }
    if (resume !== undefined && before?.expect.status !== 'interrupted') {
      const message =
        before === undefined
          ? 'there is no run to resume: begin with a turn that has an input'
          : 'resumes only a run that was interrupted: the turn before must expect status: interrupted';
      return { turn, field: 'resume', message };
    }
  }
  return undefined;
}
