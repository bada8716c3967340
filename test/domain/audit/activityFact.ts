import type { ActivityFact, TargetFacts, WorkFact } from '../../../src/domain/audit/facts.ts';
import type { ReleaseResult } from '../../../src/domain/release/release.ts';
import { request, result } from '../target/targets.ts';

/** An activity that completed within 0.25 of being scheduled. */
export function activity(
  name: string,
  input: Readonly<Record<string, unknown>>,
  at: number,
  answer: Readonly<Record<string, unknown>> = {},
): ActivityFact {
  const times = { scheduledAt: at, endedAt: at + 0.25 };
  return { name, input, ...times, outcome: 'completed', result: answer, mayHaveBeenTaken: true };
}

/** A successful release of the target `t`. */
export function workFact(
  releaseId: string,
  changes: Partial<WorkFact>,
  ending: Partial<ReleaseResult> = {},
): WorkFact {
  return {
    workflowId: `t/${releaseId}`,
    kind: 'release',
    startedAt: 0,
    endedAt: 100,
    ended: 'completed',
    request: request('a'),
    known: [],
    activities: [],
    result: result(releaseId, ending),
    ...changes,
  };
}

/** An idle target, with its works and the given facts. */
export function targetFacts(facts: Partial<TargetFacts>): TargetFacts {
  return {
    workflowId: 't',
    idle: true,
    works: [],
    resets: [],
    guards: [],
    unguarded: [],
    activities: [],
    submissions: [],
    said: [],
    promotions: [],
    taskFailures: [],
    texts: [],
    ...facts,
  };
}
