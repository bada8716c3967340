import { z } from 'zod';

import { Count, event, Instant } from './fields.ts';
import { PromotionResult } from './records/promotion.ts';
import { Progress, ReleaseResult } from './records/release.ts';

export const RehearsedRelease = event('rehearsed_release', 'a release that the rehearsal asked for', {
  target: z.string(),
  at: Instant,
  result: ReleaseResult.nullable().describe('The whole record; `null`: it was refused, or goes on'),
  reason: z.string().nullable().describe('Why the target refused it'),
  progress: Progress.nullable().describe('Where it goes on; `null` there: it waits for its turn'),
});

export const RehearsedPromotion = event('rehearsed_promotion', 'a time of a promotion', {
  name: z.string(),
  at: Instant,
  state: z
    .enum(['ended', 'left_out', 'done_after', 'goes_on'])
    .describe('`left_out`, `done_after`: this time came round while the promotion of an earlier one went on'),
  result: PromotionResult.nullable().describe('With `ended`: the whole record'),
  progress: Progress.nullable().describe('With `goes_on`'),
});

export const RehearsalUnmet = event('rehearsal_unmet', 'nothing came to where this would have happened', {
  injection: z.string(),
});

export const RehearsalEnded = event(
  'rehearsal_ended',
  'the rehearsal is over; the exit code is 0 however the promotions ended',
  { startedAt: Instant, days: Count, tookMs: Count.describe('How long it took in earnest') },
);
