import { pick } from '@slipway/contract/pick';

import { SlipwayError } from '../domain/errors.ts';
import type { ApprovalPolicy } from '../domain/intervention/intervention.ts';
import type { PromotionRequest } from '../domain/promotion/promotion.ts';
import { configDifferences } from '../domain/release/fieldDifferences.ts';
import { chooseEntry } from './chooseEntry.ts';
import type { Config } from './configSchema.ts';
import { downstreamOf, type PromotionConfig } from './promotionSchema.ts';
import { type ReleaseSettings, releaseSettings } from './releaseSettings.ts';
import type { PromotionSchedule } from '../domain/schedule/schedule.ts';

export interface PromotionSettings extends Pick<
  PromotionRequest,
  'soakMs' | 'bakeMs' | 'checkEveryMs' | 'freezes' | 'differences'
> {
  readonly name: string;
  readonly release: Omit<PromotionRequest['release'], 'checks'> & Pick<ReleaseSettings, 'checks'>;
  readonly from: string;
  readonly to: string;
  readonly downstream: readonly string[];
  readonly judge?: PromotionConfig['judge'];
  readonly approval?: ApprovalPolicy;
  readonly schedule?: PromotionSchedule;
}

/** Chooses a promotion of the file: by name, by its target if no other leads there, or the only one. */
export function choosePromotion(config: Config, name: string | undefined): string {
  const leading = Object.keys(config.promotions).filter(
    (candidate) => config.promotions[candidate]?.to === name,
  );
  const isNamed = name !== undefined && Object.hasOwn(config.promotions, name);
  if (leading[0] === undefined || isNamed) return chooseEntry(config, 'promotions', name)[0];
  if (leading.length === 1) return leading[0];
  const hint = `name one of: ${leading.join(', ')}`;
  throw new SlipwayError('SLIPWAY_PROMOTION_UNKNOWN', `several promotions lead to "${name}"`, { hint });
}

export function promotionSettings(config: Config, name: string): PromotionSettings {
  const [, promotion] = chooseEntry(config, 'promotions', choosePromotion(config, name));
  const { from, to, soak, bake, checkEvery, judge, schedule } = promotion;
  const target = releaseSettings(config, to);
  return {
    name,
    from,
    to,
    downstream: downstreamOf(config.promotions, to),
    release: {
      ...pick(target, 'checks', 'checksBudget', 'steps', 'soakMs', 'pauseMs'),
      ...pick(target, 'graphConfigPath', 'onError', 'guard', 'notify'),
    },
    soakMs: soak,
    bakeMs: bake,
    checkEveryMs: checkEvery,
    freezes: [...(target.freezes ?? []), ...(promotion.freezes ?? [])],
    differences: configDifferences(releaseSettings(config, from), target),
    judge,
    approval: approvalOf(promotion, target),
    schedule: schedule && scheduleOf(schedule),
  };
}

function scheduleOf({
  cron,
  every,
  timeZone,
  jitter,
  overlap,
  catchUp,
}: NonNullable<PromotionConfig['schedule']>): PromotionSchedule {
  return { cron, everyMs: every, timeZone, jitterMs: jitter, overlap, catchUpMs: catchUp };
}

/** Replaces the target's approval, so that people approve once. The target decides if they must prove their identity. */
function approvalOf(
  { approval }: PromotionConfig,
  { approval: ofTarget }: { readonly approval?: ApprovalPolicy },
): ApprovalPolicy | undefined {
  if (approval === undefined || ofTarget?.identity === undefined) return approval ?? ofTarget;
  return { ...approval, identity: ofTarget.identity };
}
