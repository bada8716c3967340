import { ApplicationFailure, Context } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';

import type { Activities, Attempted } from './activities.ts';
import { toActivityFailure } from './activityFailure.ts';
import { beating, reportProgress } from './heartbeat.ts';
import { scrubbed } from './scrub.ts';

/** Activities before {@link track}: plain functions that throw what the clients throw. */
export type Untracked<T extends Partial<Activities>> = {
  [Name in keyof T]: T[Name] extends (input: infer Input) => Promise<Attempted<infer Result>>
    ? (input: Input) => Promise<Omit<Result, 'attempt' | 'tookMs'>>
    : never;
};

/**
 * Makes activities of plain functions: each attempt runs under its heartbeat, each result carries its attempt, each
 * error becomes a typed failure, and neither repeats a secret of the target.
 */
export function track<Name extends keyof Activities>(
  untracked: Untracked<Pick<Activities, Name>>,
): Pick<Activities, Name> {
  const tracked = Object.entries<(input: never) => Promise<object>>(untracked).map(([name, work]) => [
    name,
    (input: never) =>
      scrubbed(input, async () => {
        const { attempt, isLocal } = Context.current().info;
        const began = performance.now();
        try {
          const result = await beating(() => work(input));
          const tookMs = Math.round(performance.now() - began);
          return { ...result, attempt, ...(isLocal ? { tookMs } : {}) };
        } catch (error) {
          const failure = toActivityFailure(error);
          if (mayFailAgain(failure)) reportProgress(failure.message);
          throw failure;
        }
      }),
  ]);
  return Object.fromEntries(tracked) as Pick<Activities, Name>;
}

/**
 * Whether another attempt follows. If that one is under way at the step's deadline, Temporal keeps only what its
 * heartbeats say, and forgets why this one failed. "Not yet" (benign) is no failure, and the poll has said it already.
 */
function mayFailAgain(failure: Error): boolean {
  if (!(failure instanceof ApplicationFailure)) return false;
  return failure.nonRetryable !== true && failure.category !== ApplicationFailureCategory.BENIGN;
}
