import { ApplicationFailure, Context } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';

import type { Activities, Attempted } from './activities.ts';
import { toActivityFailure } from './activityFailure.ts';
import { beating, knownSoFar, reportProgress } from './heartbeat.ts';
import { scrubbed } from './scrub.ts';

/** Activities before {@link track}: plain functions that throw the clients' errors. */
export type Untracked<T extends Partial<Activities>> = {
  [Name in keyof T]: T[Name] extends (input: infer Input) => Promise<Attempted<infer Result>>
    ? (input: Input) => Promise<Omit<Result, 'attempt' | 'tookMs'>>
    : never;
};

/**
 * Makes activities from plain functions. Each attempt runs with heartbeats, each result carries its attempt, and each
 * error becomes a typed failure. The target's secrets are removed from both.
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
          return { ...result, attempt, tookMs: isLocal ? tookMs : undefined };
        } catch (error) {
          const failure = toActivityFailure(error);
          if (mayFailAgain(failure)) reportProgress(failure.message, knownSoFar());
          throw failure;
        }
      }),
  ]);
  return Object.fromEntries(tracked) as Pick<Activities, Name>;
}

/** Whether another attempt follows, which may drop this failure. "Not yet" (benign) is not a failure. */
function mayFailAgain(failure: Error): boolean {
  if (!(failure instanceof ApplicationFailure)) return false;
  return failure.nonRetryable !== true && failure.category !== ApplicationFailureCategory.BENIGN;
}
