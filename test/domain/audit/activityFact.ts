import type { ActivityFact, TargetFacts } from '../../../src/domain/audit/facts.ts';

/** An activity that was completed within 0.25 of being scheduled. */
export function activity(
  name: string,
  input: Readonly<Record<string, unknown>>,
  at: number,
  answer: Readonly<Record<string, unknown>> = {},
): ActivityFact {
  const times = { scheduledAt: at, endedAt: at + 0.25 };
  return { name, input, ...times, outcome: 'completed', result: answer, mayHaveBeenTaken: true };
}

/** A target that is idle, with works and what else is given. */
export function targetFacts(facts: Partial<TargetFacts>): TargetFacts {
  return {
    ...{ workflowId: 't', idle: true, works: [], activities: [], submissions: [], said: [] },
    ...{ promotions: [], taskFailures: [], texts: [] },
    ...facts,
  };
}
