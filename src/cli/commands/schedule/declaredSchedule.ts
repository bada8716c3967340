import type { PromotionConfig } from '../../../config/promotionSchema.ts';
import type { PromotionSchedule } from '../../../domain/schedule/schedule.ts';

export function declaredSchedule({
  cron,
  every,
  timeZone,
  jitter,
  overlap,
  catchUp,
}: NonNullable<PromotionConfig['schedule']>): PromotionSchedule {
  return { cron, everyMs: every, timeZone, jitterMs: jitter, overlap, catchUpMs: catchUp };
}
