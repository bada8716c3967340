import type { Harness } from '../harness.ts';
import type { HooksUnderTest } from '../hooks/hooksUnderTest.ts';
import type { PreviewsUnderTest } from '../preview/previewUnderTest.ts';
import type { PromotionsUnderTest } from '../promotion/promotionsUnderTest.ts';
import { identity } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';

/**
 * One target's whole life, or that of promotions, hooks or previews only. Its histories are stored.
 * @returns the target; `undefined` if only promotions, hooks and previews have histories.
 */
export type Life = (
  harness: Harness,
  promotions: PromotionsUnderTest,
  hooks: HooksUnderTest,
  previews: PreviewsUnderTest,
) => Promise<Pick<TargetUnderTest, 'histories'> | undefined>;

export const BO = { who: 'bo', reason: 'a reason' };

export async function polls(target: TargetUnderTest, artifact: string): Promise<string> {
  target.world.slow.add(identity(artifact));
  const before = target.world.count('awaitDeployed');
  const { releaseId } = await target.submit(artifact, { soakMs: 3_600_000 });
  await target.world.called('awaitDeployed', before + 1);
  return releaseId;
}
