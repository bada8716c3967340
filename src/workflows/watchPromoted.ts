import { formatDuration } from '../domain/duration.ts';
import { whySuperseded } from '../domain/promotion/candidate.ts';
import type { TargetSpec } from '../domain/targetSpec.ts';
import { explain, pipelineFailure } from './failure.ts';
import { activitiesOf, stepPolicy } from './steps.ts';
import { lookAtLine } from './promotionLine.ts';
import { Ended, type Way } from './promotionWay.ts';

/** What serves, as it is watched. */
export interface Watched {
  readonly deploymentId: string;
  readonly revisionId: string;
  readonly agentUrl: string;
}

/** How long after its end the last round may take, where the services do not answer at once. */
const GRACE_MS = 15 * 60_000;

/**
 * Watches what serves on a target until a moment, with the checks repeated, at least once at its end. One activity,
 * however long it takes.
 *
 * @throws SLIPWAY_CHECK_FAILED, SLIPWAY_REVISION_REPLACED; {@link Ended} for a candidate that does not serve any more.
 */
export async function watch(
  way: Way,
  target: TargetSpec,
  watched: Watched,
  until: number,
  step: 'soak' | 'bake',
): Promise<void> {
  const { journal, request } = way;
  const { checks } = request.release;
  const left = Math.max(until - Date.now(), 0);
  const subject = `${target.name} for ${formatDuration(left)}`;
  const overrides = {
    ...journal.overrides,
    [step]: {
      ...journal.overrides[step],
      scheduleToCloseMs: left + GRACE_MS,
      retry: { ...stepPolicy(step, journal.overrides).retry, maximumAttempts: 0 },
    },
  };
  try {
    await journal.step(step, subject, async () => {
      const { failed, attempt } = await activitiesOf(step, overrides, `${step} ${subject}`).watchRevision({
        ...watched,
        target,
        checks,
        until,
        everyMs: request.checkEveryMs,
      });
      if (failed === null) return { result: undefined, attempts: attempt };
      journal.verdict(failed);
      throw pipelineFailure(
        'SLIPWAY_CHECK_FAILED',
        `check "${failed.check}" failed during the ${step} on "${target.name}": ${failed.reasons.join('; ')}`,
        false,
        attempt,
      );
    });
  } catch (error) {
    const { code } = explain(error);
    const isGone = code === 'SLIPWAY_REVISION_REPLACED' || code === 'SLIPWAY_NOT_FOUND';
    if (step === 'bake' || !isGone) throw error;
    const { from } = await lookAtLine(way);
    if (code === 'SLIPWAY_NOT_FOUND' && from.servingRevisionId === watched.revisionId) throw error;
    throw new Ended({
      outcome: 'superseded',
      reason: whySuperseded(from),
      code: 'SLIPWAY_REVISION_REPLACED',
    });
  }
}
