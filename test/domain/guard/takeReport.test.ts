import { expect, it } from 'vitest';

import { guardRequestId } from '../../../src/domain/guard/guardPolicy.ts';
import { takeReport } from '../../../src/domain/guard/takeReport.ts';
import { EMPTY_TARGET, type TargetState } from '../../../src/domain/target/targetState.ts';

const AT = '2026-11-25T10:00:00.000Z';
const WORSE = { releaseId: 'release-3', at: AT, verdict: 'worse', note: 'errors', since: 7 } as const;
const STATE: TargetState = {
  ...EMPTY_TARGET,
  guard: { workflowId: 'guard:t/release-3', releaseId: 'release-3', revisionId: 'r3', until: AT },
  guarded: { since: 7 } as TargetState['guarded'],
};

it('a report ends the guard, and is recorded once, however often it comes', () => {
  const ended = takeReport(STATE, 't', WORSE, AT);
  expect(ended.guard?.ended).toMatchObject({ verdict: 'worse', note: 'errors' });
  expect(ended.said).toMatchObject([{ message: 'guard', by: { who: 'guard' } }]);
  expect(takeReport(ended, 't', WORSE, AT)).toBe(ended);
});

it('a person cancels a guard that asks for its rollback, unless the target has accepted that', () => {
  const asking = takeReport(STATE, 't', WORSE, AT);
  const canceled = { ...WORSE, verdict: 'canceled' } as const;
  expect(takeReport(asking, 't', canceled, AT).guard?.ended?.verdict).toBe('canceled');
  const accepted = { ...asking, seenRequestIds: [guardRequestId('t', 'release-3')] };
  expect(takeReport(accepted, 't', canceled, AT)).toBe(accepted);
});
