import { whoAndWhy } from '../../domain/actor.ts';
import { tookText } from '../../domain/duration.ts';
import { SlipwayError } from '../../domain/errors.ts';
import type { PromotionResult } from '../../domain/promotion/promotion.ts';
import { outcomeExitCode } from '../../domain/release/outcome.ts';
import { describeJudgement } from '../../domain/story.ts';
import { findWork, pastReleases } from '../../temporal/client/release/pastReleases.ts';
import { workflowPage } from '../../temporal/client/temporalSettings.ts';
import { followPromotion, type FollowedPromotion } from '../follow/followPromotion.ts';
import type { Session } from '../session.ts';
import { type Links, onPageLines, outcomeWords, promotionWords } from '../ui/endingText.ts';
import { checksSection, code, type Fact, factsTable, stepsSection, summaryOf } from './markdown.ts';
import { annotateEnd, inSection, type Outputs, reportInCi, writeJobSummary } from './reportInCi.ts';

/**
 * Follows a promotion to its end, as {@link followPromotion} does. In CI, its steps are a foldable section of the log,
 * and an unwanted outcome annotates the run. On GitHub it also writes the job summary and the step outputs.
 */
export async function followPromotionInCi(session: Session, followed: FollowedPromotion): Promise<number> {
  const { name, workflowId, targetId, dashboardUrl } = followed;
  const { exitCode, result, gaveUp } = await inSection(session, `${name}, step by step`, (close) =>
    followPromotion(session, { ...followed, onEnd: close }),
  );
  if (result !== undefined) {
    const { promotion, outcome, reason, releaseId } = result;
    annotateEnd(session, exitCode, `${promotion}: ${outcomeWords(outcome)}`, reason);
    const workflowUrl = workflowPage(session.temporal.settings, workflowId);
    const summary = promotionSummary(result, { dashboardUrl, workflowUrl });
    const outputs = {
      'release-id': releaseId ?? '',
      outcome,
      ...(await serving(session, targetId)),
    };
    await writeJobSummary(session, summary, outputs);
  }
  if (gaveUp !== undefined) {
    const why = [gaveUp, ...onPageLines(dashboardUrl)];
    await reportInCi(session, { exitCode, title: `${name}: not watched to its end`, why, outputs: {} });
  }
  return exitCode;
}

/** What serves on the target, by its last release: a promotion that ended may have changed nothing. */
async function serving({ environment, output, temporal }: Session, targetId: string): Promise<Outputs> {
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
  const { promotion, from, to, outcome, reason, endedAt, requestedBy, judgement } = result;
  const facts: readonly Fact[] = [
    ['from', from],
    ['to', to],
    ['took', tookText(result)],
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
