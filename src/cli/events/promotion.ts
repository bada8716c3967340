import { z } from 'zod';

import { event, ExitCode, Instant } from './fields.ts';
import { PromotionResult, PromotionSchedule } from './records/promotion.ts';

export const Promotion = event('promotion', '`promote`: it was asked for', {
  name: z.string(),
  from: z.string(),
  to: z.string(),
  disposition: z.enum(['started', 'joined']),
  workflowId: z.string(),
  differences: z.array(z.string()).describe('In what the configurations of the two targets differ, in words'),
});

export const PromotionEnded = event('promotion_ended', '`promote`: it has ended; the whole record', {
  exitCode: ExitCode,
  ...PromotionResult.shape,
});

export const ScheduleChange = event('schedule_change', '`schedule apply`: one each', {
  name: z.string(),
  scheduleId: z.string(),
  kind: z
    .enum(['create', 'update', 'unchanged', 'undeclared'])
    .describe('`undeclared`: Temporal has it and the file has not'),
  differences: z.array(z.string()).describe('In words'),
});

export const Schedule = event('schedule', '`schedule list`, `pause`, `resume`: one each', {
  name: z.string(),
  scheduleId: z.string(),
  from: z.string(),
  to: z.string(),
  ...PromotionSchedule.shape,
  paused: z.boolean(),
  note: z.string().nullable().describe('Why it is paused, or goes on'),
  next: z.array(Instant).describe('The next times'),
  recent: z.array(Instant).describe('The last times'),
});

export const Triggered = event('triggered', '`schedule trigger`', {
  name: z.string(),
  scheduleId: z.string(),
});

export const Planned = event('planned', '`plan promotion`: one for each time', {
  name: z.string(),
  at: Instant,
  decisions: z.array(z.strictObject({ at: Instant, what: z.string().describe('In words') })),
});
