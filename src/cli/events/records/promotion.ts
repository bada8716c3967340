import { z } from 'zod';

import type * as domain from '../../../domain/promotion/promotion.ts';
import type { PromotionSchedule as Schedule } from '../../../domain/promotion/schedule.ts';
import { Count, Instant, maybe } from '../fields.ts';
import { mirrorOf } from '../mirror.ts';
import {
  Actor,
  CheckVerdict,
  Code,
  InterventionRecord,
  JudgementRecord,
  Outcome,
  StepRecord,
} from './release.ts';

export const PromotionResult = mirrorOf<domain.PromotionResult>()(
  z.strictObject({
    promotion: z.string().describe('Its name'),
    from: z.string(),
    to: z.string(),
    outcome: Outcome.describe('As of a release; `released` also where nothing was to do'),
    reason: z.string().describe('Why it ended so: one sentence'),
    nothingToDo: z.boolean().describe('The target runs the artifact already: nothing was done'),
    code: Code.nullable().describe(
      'Of the failure that ended it; `null`: nothing failed, or a person stopped it',
    ),
    artifact: z.string().nullable().describe('Its identity; `null`: nothing could be promoted'),
    commit: z.string().nullable(),
    candidateRevisionId: z.string().nullable().describe('The revision that was promoted'),
    releaseId: z.string().nullable().describe('The release that was made; `null`: it did not come to one'),
    differences: z
      .array(z.string())
      .describe('In what the configurations of the two targets differ, in words'),
    steps: z.array(StepRecord),
    verdicts: z.array(CheckVerdict),
    judgement: JudgementRecord.nullable().describe('The last one; `null`: none was made'),
    interventions: z.array(InterventionRecord).describe('In the order in which they came'),
    requestedBy: Actor,
    startedAt: Instant,
    endedAt: Instant,
  }),
).meta({ id: 'PromotionResult', description: 'The whole record of a promotion' });

export const PromotionSchedule = mirrorOf<Schedule>()(
  z.strictObject({
    cron: maybe(z.string()).describe('Either this or `everyMs`'),
    everyMs: maybe(Count),
    timeZone: z.string(),
    jitterMs: Count.describe('Each time comes round up to this much later'),
    overlap: z
      .enum(['skip', 'buffer_one'])
      .describe('What a time does while the promotion of an earlier one goes on'),
    catchUpMs: Count.describe('How late a time is still made up for that passed while Temporal was down'),
  }),
).meta({ id: 'PromotionSchedule', description: 'When a promotion is done by itself' });
