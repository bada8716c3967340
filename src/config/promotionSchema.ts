import { z } from 'zod';

import { MINUTE_MS } from '../domain/duration.ts';
import type { ApprovalPolicy } from '../domain/intervention/intervention.ts';
import { cronProblem } from '../domain/schedule/schedule.ts';
import { type Fields, fieldsOf } from './asWritten.ts';
import { unknownName } from './nearestWord.ts';
import type { FieldProblem } from './configProblem.ts';
import {
  approvalFields,
  Duration,
  enoughApprovers,
  EntryName,
  FreezeList,
  Text,
  TimeZone,
  unless,
} from './fields.ts';
import { Judge } from './judgeSchema.ts';

/** The least catch-up window that Temporal accepts. */
const CATCH_UP_LEAST_MS = 10_000;

/** Sets every option, because Temporal's defaults do not suit promotions. */
const Schedule = z
  .strictObject({
    cron: Text.superRefine(unless(cronProblem))
      .optional()
      .describe('Minute, hour, day of month, month, day of week: "0 10 * * 1-5"'),
    every: Duration.optional().describe('How often, instead of cron: 4h'),
    timeZone: TimeZone.default('UTC'),
    jitter: Duration.default(MINUTE_MS).describe(
      'The largest random delay of each start, to spread the load. Default: 1m',
    ),
    overlap: z
      .enum(['skip', 'buffer_one'])
      .default('skip')
      .describe('What to do if the earlier promotion still runs at a scheduled time. Default: skip'),
    catchUp: Duration.default(10 * MINUTE_MS)
      .refine((late) => late >= CATCH_UP_LEAST_MS, { message: 'expected at least 10s' })
      .describe(
        'How late a start may be if Temporal or all workers were down; later ones are dropped. Default: 10m',
      ),
  })
  .refine(({ cron, every }) => (cron === undefined) !== (every === undefined), {
    path: ['cron'],
    message: 'expected either cron or every',
  })
  .refine(({ every = 1_000 }) => every >= 1_000, { path: ['every'], message: 'expected at least 1s' });

const Approval = z
  .strictObject({
    ...approvalFields('any person except those who released or promoted it'),
    otherwise: z
      .enum(['reject', 'approve'])
      .default('reject')
      .describe('The decision if no person approves or rejects in time. Default: reject'),
  })
  .superRefine(enoughApprovers)
  .transform(({ within: withinMs, ...policy }): ApprovalPolicy => ({ ...policy, withinMs }));

const Promotion = z.strictObject({
  from: Text.describe('The target whose verified artifact is promoted'),
  to: Text.describe('The target to release it on'),
  schedule: Schedule.optional().describe(
    'When the promotion starts. Absent: only "slipway promote" starts it',
  ),
  soak: Duration.default(0).describe(
    'How long the artifact must have been verified on from. Default: no soak',
  ),
  bake: Duration.default(0).describe(
    'How long to repeat the checks on to after the release. A failure rolls it back. Default: no bake',
  ),
  checkEvery: Duration.default(5 * MINUTE_MS)
    .refine((every) => every >= 1_000, { message: 'expected at least 1s' })
    .describe('How often to repeat the checks during soak and bake. Default: 5m'),
  judge: Judge.optional().describe(
    'How to compare it with the revision that serves on to. Absent: no comparison',
  ),
  approval: Approval.optional().describe(
    'Who must approve it. Replaces the approval of the target to. Absent: that approval applies',
  ),
  freezes: FreezeList.optional().describe(
    'When it does not release, in addition to the freezes of the target to',
  ),
});

export const Promotions = z.record(EntryName, Promotion);
export type PromotionConfig = z.infer<typeof Promotion>;

export function promotionProblems(promotions: Fields, targets: readonly string[]): readonly FieldProblem[] {
  const ways = Object.entries(promotions).flatMap(([name, promotion]) => {
    const { from, to } = fieldsOf(promotion);
    return typeof from === 'string' && typeof to === 'string' ? [{ name, from, to }] : [];
  });
  const problems = ways.flatMap(({ name, from, to }) => [
    ...Object.entries({ from, to })
      .filter(([, target]) => targets.length > 0 && !targets.includes(target))
      .map(([end, target]) => ({
        path: ['promotions', name, end],
        message: unknownName('target', target, targets),
      })),
    ...(from === to
      ? [{ path: ['promotions', name, 'to'], message: 'expected a target other than from' }]
      : []),
  ]);
  if (problems.length > 0) return problems;
  return ways.flatMap(({ name, from, to }) =>
    downstreamOf(Object.fromEntries(ways.map((way) => [way.name, way])), to).includes(from)
      ? [{ path: ['promotions', name, 'to'], message: `the promotions lead from "${to}" back to "${from}"` }]
      : [],
  );
}

export function downstreamOf(
  promotions: Readonly<Record<string, Pick<PromotionConfig, 'from' | 'to'>>>,
  target: string,
): readonly string[] {
  const reached: string[] = [];
  const visit = (from: string): void => {
    for (const promotion of Object.values(promotions)) {
      if (promotion.from !== from || reached.includes(promotion.to)) continue;
      reached.push(promotion.to);
      visit(promotion.to);
    }
  };
  visit(target);
  return reached;
}
