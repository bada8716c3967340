import { SlipwayError } from '../../domain/errors.ts';
import type { RunningCall } from '../../domain/heartbeat.ts';
import type { PromotionResult } from '../../domain/promotion/promotion.ts';
import { outcomeExitCode } from '../../domain/release/outcome.ts';
import type { Progress } from '../../domain/release/release.ts';
import { progressQuery } from '../../messages/release.ts';
import type { TemporalConnection } from '../../temporal/client/connection.ts';
import { pause } from '../../temporal/client/pause.ts';
import { type PromotionView, viewPromotion } from '../../temporal/client/promotion/promotionClient.ts';
import { answerOf, type FollowEvent, GaveUp } from '../../temporal/client/release/follow.ts';
import { readProgress } from '../../temporal/client/target/targetClient.ts';
import { noAnswerCall } from '../../temporal/client/workerPresence.ts';
import type { Output } from '../output.ts';
import type { Session } from '../session.ts';
import { promotionWords } from '../ui/endingText.ts';
import { FollowView } from './followView.ts';
import { GAVE_UP, printGaveUp, whileItContinues } from './stopFollowing.ts';

const LOOK_MS = 400;

export interface FollowedPromotion {
  readonly name: string;
  readonly workflowId: string;
  readonly targetId: string;
  readonly dashboardUrl: string | null;
  readonly timeoutMs: number;
  /** Called when Ctrl-C stops the following; returns its result as text. Default: nothing; the promotion continues. */
  readonly onStopped?: () => Promise<string>;
  /** Called when the promotion has ended, before the outcome is printed: the outcome is the last output. */
  readonly onEnd?: () => void;
}

/**
 * Follows a promotion to its end and shows it live. Ctrl-C and the timeout end only the following. The last line then
 * says that the promotion continues, or what `onStopped` returns.
 * @returns how it ended. Without a result, `gaveUp` says why the following stopped.
 */
export async function followPromotion(
  { output, temporal, signal }: Pick<Session, 'output' | 'temporal' | 'signal'>,
  { name, workflowId, targetId, dashboardUrl, timeoutMs, onStopped, onEnd }: FollowedPromotion,
): Promise<{ exitCode: number; result: PromotionResult | undefined; gaveUp?: string }> {
  const view = new FollowView(output, `--promotion ${name}`, 'promotion');
  const following = { temporal, targetId: workflowId, deadline: Date.now() + timeoutMs, signal };
  const lookAtRelease = releaseLooker(temporal, targetId);
  let why: GaveUp['why'];
  try {
    for (;;) {
      const seen = await shown(
        view,
        answerOf(following, workflowId, () => lookAt(temporal, workflowId)),
      );
      const { progress } = seen;
      if (progress !== undefined)
        view.show({ kind: 'progress', progress, call: await lookAtRelease(progress) });
      if (seen.state === 'ended') {
        const { result } = seen;
        view.close();
        onEnd?.();
        return { exitCode: printEnding(output, result, dashboardUrl), result };
      }
      if (seen.state !== 'running') throw endedWithoutResult(seen);
      await pause(LOOK_MS, signal);
    }
  } catch (error) {
    if (!(error instanceof GaveUp)) throw whileItContinues(error, 'promotion', 'slipway status');
    why = error.why;
  } finally {
    view.close();
  }
  const said = why === 'stopped' ? await onStopped?.() : undefined;
  const gaveUp = printGaveUp(output, why, 'slipway status', said ?? 'the promotion continues');
  return { exitCode: GAVE_UP, result: undefined, gaveUp };
}

async function shown<T>(view: FollowView, events: AsyncGenerator<FollowEvent, T>): Promise<T> {
  for (;;) {
    const next = await events.next();
    if (next.done === true) return next.value;
    view.show(next.value);
  }
}

/** @throws a silent worker's error while the promotion runs. */
async function lookAt(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<PromotionView & { readonly progress?: Progress | undefined }> {
  const seen = await viewPromotion(temporal, workflowId, false);
  if (seen.state === 'ended') return { ...seen, progress: await readProgress(temporal, workflowId) };
  if (seen.state !== 'running') return seen;
  return { ...seen, progress: await temporal.client.workflow.getHandle(workflowId).query(progressQuery) };
}

const LOOK_AT_RELEASE_MS = 5_000;

/**
 * The release of a promotion may wait for workers of its own version, while those of the promotion answer.
 * @returns a function that says why nothing continues the release; `null` if workers poll that could, or none runs.
 */
function releaseLooker(
  temporal: TemporalConnection,
  targetId: string,
): (progress: Progress) => Promise<RunningCall | null> {
  let call: RunningCall | null = null;
  let looksAt = 0;
  return async ({ steps }) => {
    const waitsFor = steps.find(({ step, status }) => step === 'promote' && status === 'running');
    if (waitsFor === undefined) return null;
    const now = Date.now();
    if (now < looksAt) return call;
    looksAt = now + LOOK_AT_RELEASE_MS;
    // The next look at the promotion reports a Temporal that does not answer.
    call = await noAnswerCall(temporal, `${targetId}/${waitsFor.subject}`, call?.since);
    return call;
  };
}

function endedWithoutResult(seen: PromotionView): SlipwayError {
  const how = seen.state === 'stopped' ? `its workflow is ${seen.status}` : 'Temporal no longer keeps it';
  return new SlipwayError('SLIPWAY_OUTCOME_UNKNOWN', `the promotion ended without a result: ${how}`, {
    hint: 'its release on the target may run or have ended: slipway status',
  });
}

function printEnding(output: Output, result: PromotionResult, dashboardUrl: string | null): number {
  const exitCode = outcomeExitCode('release', result.outcome);
  output.event({ event: 'promotion_ended', exitCode, dashboardUrl, ...result });
  const mark = output.style.mark(exitCode === 0);
  output.print(`${mark} ${promotionWords(result)}: ${result.reason}`);
  if (dashboardUrl !== null) output.print(`  page: ${dashboardUrl}`);
  return exitCode;
}
