import { whySuperseded } from '../../domain/promotion/candidate.ts';
import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import { watchServing } from '../check/watchServing.ts';
import { explain } from '../failure.ts';
import { lookAtLine, PromotionEnded, type PromotionRun } from './promotionRun.ts';

/** The revision to watch. */
export interface Watched {
  readonly deploymentId: string;
  readonly revisionId: string;
  readonly agentUrl: string;
}

/**
 * Watches the revision that serves on a target, until a moment.
 * @throws SLIPWAY_CHECK_FAILED; {@link PromotionEnded} if it no longer serves.
 */
export async function watch(
  run: PromotionRun,
  target: TargetSpec,
  watched: Watched,
  until: number,
  step: 'soak' | 'bake',
): Promise<void> {
  const { journal, request } = run;
  const { checks, checksBudget: budget } = request.release;
  try {
    const { agentUrl, ...revision } = watched;
    const watch = {
      agentUrl,
      checks,
      until,
      everyMs: request.checkEveryMs,
      budget,
    };
    await watchServing(journal, { target, ...revision }, watch, step);
  } catch (error) {
    const { code } = explain(error);
    const isGone = code === 'SLIPWAY_REVISION_REPLACED' || code === 'SLIPWAY_NOT_FOUND';
    if (!isGone) throw error;
    const { from, to } = await lookAtLine(run);
    const [seen, revision] = step === 'soak' ? [from, 'the candidate'] : [to, 'the promoted one'];
    if (code === 'SLIPWAY_NOT_FOUND' && seen.servingRevisionId === watched.revisionId) throw error;
    throw new PromotionEnded({
      outcome: 'superseded',
      reason: whySuperseded(seen, revision),
      code: 'SLIPWAY_REVISION_REPLACED',
    });
  }
}
