import type { ActivityFact } from '../../../src/domain/audit/facts.ts';

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
