import { whoAndWhy } from '../../domain/actor.ts';
import { formatDuration } from '../../domain/duration.ts';
import { SlipwayError } from '../../domain/errors.ts';
import type { RunningCall } from '../../domain/heartbeat.ts';
import type { PromotionResult } from '../../domain/promotion/promotion.ts';
import type { Progress } from '../../domain/release/release.ts';
import { outcomeExitCode } from '../../domain/release/outcome.ts';
import { describeJudgement } from '../../domain/story.ts';
import { progressQuery } from '../../messages/release.ts';
import type { TemporalConnection } from '../../temporal/client/connection.ts';
import { pause } from '../../temporal/client/pause.ts';
import { type PromotionView, viewPromotion } from '../../temporal/client/promotion/promotionClient.ts';
import { answerOf, type FollowEvent, GaveUp } from '../../temporal/client/release/follow.ts';
import { findWork, pastReleases } from '../../temporal/client/release/pastReleases.ts';
import { readProgress } from '../../temporal/client/target/targetClient.ts';
import { workflowPage } from '../../temporal/client/temporalSettings.ts';
import { noAnswerCall } from '../../temporal/client/workerPresence.ts';
import type { CommandContext } from '../context.ts';
import { GAVE_UP, tellGaveUp, whileItContinues } from '../follow/followToEnd.ts';
import { FollowView } from '../follow/followView.ts';
import type { Output } from '../output.ts';
import { type Links, onPageLines, outcomeWords, promotionWords } from '../ui/endingText.ts';
import { checksSection, code, type Fact, factsTable, stepsSection, summaryOf } from './markdown.ts';
import { annotateEnd, inSection, type Outputs, reportInCi, writeJobSummary } from './reportInCi.ts';

/**
 * Follows a promotion to its end, as {@link followPromotion} does. In CI, its steps are a foldable section of the log,
 * and an unwanted outcome annotates the run. On GitHub it also writes the job summary and the step outputs.
 */
export async function followPromotionInCi(
  context: CommandContext,
  temporal: TemporalConnection,
  { targetId, ...followed }: FollowedPromotion,
  signal: AbortSignal,
): Promise<number> {
  const { name, workflowId, dashboardUrl } = followed;
  const { exitCode, result, gaveUp } = await inSection(context, `${name}, step by step`, (close) =>
    followPromotion(context.output, temporal, { ...followed, targetId, onEnd: close }, signal),
  );
  if (result !== undefined) {
    const { promotion, outcome, reason, releaseId } = result;
    annotateEnd(context, exitCode, `${promotion}: ${outcomeWords(outcome)}`, reason);
    const workflowUrl = workflowPage(temporal.settings, workflowId);
    const summary = promotionSummary(result, { dashboardUrl, workflowUrl });
    const outputs = {
      'release-id': releaseId ?? '',
      outcome,
      ...(await serving(context, temporal, targetId)),
    };
    await writeJobSummary(context, summary, outputs);
  }
  if (gaveUp !== undefined) {
    const why = [gaveUp, ...onPageLines(dashboardUrl)];
    await reportInCi(context, { exitCode, title: `${name}: not watched to its end`, why, outputs: {} });
  }
  return exitCode;
}

/** What serves on the target, by its last release: a promotion that ended may have changed nothing. */
async function serving(
  { environment, output }: CommandContext,
  temporal: TemporalConnection,
  targetId: string,
): Promise<Outputs> {
  if (environment['GITHUB_OUTPUT'] === undefined) return {};
  try {
    const past = await pastReleases(temporal, targetId);
    const last = past?.releases.find(({ endedAt }) => endedAt !== null);
    if (last === undefined) return {};
    const work = await findWork(temporal, `${targetId}/${last.releaseId}`);
    return { 'serving-revision-id': last.servingRevisionId ?? '', 'agent-url': work?.result?.agentUrl ?? '' };
  } catch (error) {
    if (!(error instanceof SlipwayError)) throw error;
    output.note(`what serves could not be read for the outputs of the step: ${error.message}`);
    return {};
  }
}

export function promotionSummary(result: PromotionResult, { dashboardUrl, workflowUrl }: Links): string {
  const { promotion, from, to, outcome, reason, startedAt, endedAt, requestedBy, judgement } = result;
  const facts: readonly Fact[] = [
    ['from', from],
    ['to', to],
    ['took', formatDuration(Date.parse(endedAt) - Date.parse(startedAt))],
    ['asked by', whoAndWhy(requestedBy)],
    ['artifact', code(result.artifact)],
    ['commit', code(result.commit)],
    ['candidate', code(result.candidateRevisionId)],
    ['release', code(result.releaseId)],
    ['judged', judgement === null ? null : describeJudgement(judgement)],
    ['differs', result.differences.join('; ')],
    ['code', code(result.code)],
    ['page', dashboardUrl],
    ['Temporal', workflowUrl],
  ];
  const title = `${promotion}, ${from} to ${to}: ${promotionWords(result)}`;
  const sections = [factsTable(facts), stepsSection(result.steps, endedAt), checksSection(result.verdicts)];
  return summaryOf(outcomeExitCode('release', outcome), title, [reason], sections.flat());
}

const LOOK_MS = 400;

interface FollowedPromotion {
  readonly name: string;
  readonly workflowId: string;
  /** The workflow id of the target to which it leads. */
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
  output: Output,
  temporal: TemporalConnection,
  { name, workflowId, targetId, dashboardUrl, timeoutMs, onStopped, onEnd }: FollowedPromotion,
  signal: AbortSignal,
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
        return { exitCode: tellEnding(output, result, dashboardUrl), result };
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
  const gaveUp = tellGaveUp(output, why, 'slipway status', said ?? 'the promotion continues');
  return { exitCode: GAVE_UP, result: undefined, gaveUp };
}

/** Shows the events until there is an answer. */
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

function tellEnding(output: Output, result: PromotionResult, dashboardUrl: string | null): number {
  const exitCode = outcomeExitCode('release', result.outcome);
  output.event({ event: 'promotion_ended', exitCode, dashboardUrl, ...result });
  const mark = output.style.mark(exitCode === 0);
  output.print(`${mark} ${promotionWords(result)}: ${result.reason}`);
  if (dashboardUrl !== null) output.print(`  page: ${dashboardUrl}`);
  return exitCode;
}
