import { loadConfig } from '../../../config/loadConfig.ts';
import { choosePromotion } from '../../../config/promotionSettings.ts';
import type { Actor } from '../../../domain/actor.ts';
import { pageLink, promotionAddress } from '../../../domain/dashboard/addresses.ts';
import { type PromotionRequest, promotionWorkflowId } from '../../../domain/promotion/promotion.ts';
import { targetWorkflowId } from '../../../domain/target/targetSpec.ts';
import {
  intervenePromotion,
  type PromotionStarted,
  startPromotion,
  viewPromotion,
} from '../../../temporal/client/promotion/promotionClient.ts';
import { describeSpan } from '../../../traces/trace.ts';
import { followPromotionInCi } from '../../ci/followPromotionInCi.ts';
import { reportInCi } from '../../ci/reportInCi.ts';
import type { CommandContext, MessageOptions } from '../../context.ts';
import { abortOnInterrupt } from '../../follow/stopFollowing.ts';
import { readRequester } from '../../provenance.ts';
import { type Session, withSession } from '../../session.ts';
import { onPageLines } from '../../ui/endingText.ts';
import { announceFreezes, noteJoined } from '../../ui/freezes.ts';
import { promotionRequest, withProof } from './promotionRequest.ts';

export interface PromoteOptions extends MessageOptions {
  readonly overrideFreeze?: boolean;
  /** Ctrl-C asks the promotion to abort, instead of leaving it. */
  readonly abortOnInterrupt?: boolean;
  readonly wait: boolean;
  readonly timeout: number;
}

/** `slipway promote [PROMOTION]`: releases on one target what is verified on another, and follows the promotion. */
export async function runPromoteCommand(
  context: CommandContext,
  wanted: string | undefined,
  options: PromoteOptions,
): Promise<number> {
  const { output } = context;
  const file = await loadConfig(options.config);
  const name = choosePromotion(file.config, wanted);
  const by = await readRequester(context, file.folder, options.reason);
  const { request, settings, store } = await promotionRequest(context, file, name, by);
  const overrideFreeze = options.overrideFreeze ?? false;
  // After a soak, other freezes are in force than now.
  const freezes = request.soakMs > 0 ? [] : request.freezes;
  const frozen = announceFreezes(output, settings.to, freezes, { overrideFreeze, reason: options.reason });
  return withSession(context, async (session) => {
    const { temporal, signal } = session;
    if (frozen !== undefined) {
      const { state } = await viewPromotion(temporal, promotionWorkflowId(request), false);
      if (state !== 'running') throw frozen;
    }
    await store();
    const proved = await withProof(context, request);
    const asked = overrideFreeze ? { ...proved, overrideFreeze } : proved;
    signal.throwIfAborted();
    const started = await startPromotion(temporal, asked);
    return reportPromotion(session, asked, started, options);
  });
}

/** Reports a promotion that was started or joined and, with `--wait`, its progress and its end. @returns the exit code. */
async function reportPromotion(
  session: Session,
  request: PromotionRequest,
  { workflowId, disposition }: PromotionStarted,
  { wait, timeout, abortOnInterrupt: aborts }: PromoteOptions,
): Promise<number> {
  const { output, temporal } = session;
  const { name, differences, requestedBy, overrideFreeze } = request;
  const [from, to] = [request.from.name, request.to.name];
  describeSpan({ 'slipway.promotion': name, 'slipway.target': to, 'slipway.disposition': disposition });
  const dashboardUrl = pageLink(temporal.settings.dashboard, promotionAddress(workflowId));
  output.event({ event: 'promotion', name, from, to, disposition, workflowId, dashboardUrl, differences });
  const { strong } = output.style;
  const started = `Promoting from ${strong(from)} to ${strong(to)} (${name}): ${disposition}`;
  const onPage = onPageLines(dashboardUrl);
  const print = wait ? output.info : output.print;
  for (const line of [started, ...onPage]) print(line);
  if (disposition === 'joined' && overrideFreeze === true) noteJoined(output, `--promotion ${name}`);
  for (const difference of differences) output.info(`  differs: ${difference}`);
  if (!wait) {
    const title = `${name}, ${from} to ${to}: ${disposition}`;
    const why = [`See it: slipway status ${to}`, ...onPage];
    await reportInCi(session, { exitCode: 0, title, why, outputs: {} });
    return 0;
  }
  const abort = {
    id: name,
    command: `slipway abort --promotion ${name}`,
    requestedBy,
    ask: (by: Actor) => intervenePromotion(temporal, workflowId, 'abort', by),
  };
  const followed = {
    name,
    workflowId,
    targetId: targetWorkflowId(request.to),
    dashboardUrl,
    timeoutMs: timeout,
    onStopped: aborts === true ? () => abortOnInterrupt(output, abort) : undefined,
  };
  return followPromotionInCi(session, followed);
}
