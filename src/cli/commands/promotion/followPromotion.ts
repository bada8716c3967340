import { setTimeout } from 'node:timers/promises';

import type { PromotionResult } from '../../../domain/promotion/promotion.ts';
import { outcomeExitCode } from '../../../domain/release/outcome.ts';
import type { TemporalConnection } from '../../../temporal/client/connection.ts';
import { lastResult } from '../../../temporal/client/promotion/promotionClient.ts';
import { readProgress } from '../../../temporal/client/target/targetClient.ts';
import { GAVE_UP, tellGaveUp, whileItContinues } from '../../follow/followToEnd.ts';
import { FollowView } from '../../follow/followView.ts';
import type { Output } from '../../output.ts';
import { outcomeWords } from '../../ui/endingText.ts';

const LOOK_MS = 400;

export interface FollowedPromotion {
  readonly name: string;
  readonly workflowId: string;
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
  output: Output,
  temporal: TemporalConnection,
  { name, workflowId, dashboardUrl, timeoutMs, onStopped, onEnd }: FollowedPromotion,
  signal: AbortSignal,
): Promise<{ exitCode: number; result: PromotionResult | undefined; gaveUp?: string }> {
  const view = new FollowView(output, `--promotion ${name}`, 'promotion');
  const until = Date.now() + timeoutMs;
  try {
    while (!signal.aborted && Date.now() < until) {
      const progress = await readProgress(temporal, workflowId);
      if (progress !== undefined) view.show({ kind: 'progress', progress, call: null });
      if (progress?.outcome !== null) {
        const result = await lastResult(temporal, workflowId);
        if (result !== undefined) {
          view.close();
          onEnd?.();
          return { exitCode: tellEnding(output, result, dashboardUrl), result };
        }
      }
      await setTimeout(LOOK_MS);
    }
  } catch (error) {
    throw whileItContinues(error, 'promotion', 'slipway status');
  } finally {
    view.close();
  }
  const why = signal.aborted ? 'stopped' : 'timeout';
  const said = why === 'stopped' ? await onStopped?.() : undefined;
  const gaveUp = tellGaveUp(output, why, 'slipway status', said ?? 'the promotion continues');
  return { exitCode: GAVE_UP, result: undefined, gaveUp };
}

function tellEnding(output: Output, result: PromotionResult, dashboardUrl: string | null): number {
  const exitCode = outcomeExitCode('release', result.outcome);
  output.event({ event: 'promotion_ended', exitCode, dashboardUrl, ...result });
  const mark = output.style.mark(exitCode === 0);
  const word = result.nothingToDo ? 'nothing to do' : outcomeWords(result.outcome);
  output.print(`${mark} ${word}: ${result.reason}`);
  if (dashboardUrl !== null) output.print(`  page: ${dashboardUrl}`);
  return exitCode;
}
