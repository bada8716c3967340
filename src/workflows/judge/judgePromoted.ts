import { workflowInfo } from '@temporalio/workflow';

import type { JudgementInput } from '../../activities/activities.ts';
import { JUDGE } from '../../domain/intervention/intervention.ts';
import type { JudgeReport } from '../../domain/judge/report.ts';
import { confidenceOfEach, type JudgeSettings } from '../../domain/judge/settings.ts';
import { shortArtifact } from '../../domain/artifact/artifact.ts';
import { type Candidate, whySuperseded } from '../../domain/promotion/candidate.ts';
import type { PromotionJudge } from '../../domain/promotion/promotion.ts';
import type { JudgementRecord } from '../../domain/release/release.ts';
import { describeJudgement } from '../../domain/story.ts';
import { explain, pipelineFailure } from '../failure.ts';
import { now } from '../journal.ts';
import { measure } from '../measure.ts';
import { confirmTargets, PromotionEnded, type PromotionRun } from '../promotion/promotionRun.ts';

/**
 * Judges the candidate against the revision that serves on `to`. Returns if it is found no worse, or if a person
 * skips the verdict (`skip`).
 *
 * Decision: if nothing serves on `to`, there is nothing to compare with: the judge is skipped, and the journal says
 * so.
 * @throws SLIPWAY_CANDIDATE_WORSE, SLIPWAY_JUDGE_INCONCLUSIVE, SLIPWAY_JUDGE_ERRORED; {@link PromotionEnded} if a
 * side has changed meanwhile.
 */
export async function judgeCandidate(
  run: PromotionRun,
  candidate: Candidate,
  judge: PromotionJudge,
): Promise<void> {
  const { interventions } = run;
  let made = 0;
  await interventions.goOrSkip(JUDGE, async () => {
    while (!interventions.wasSkipped(JUDGE)) {
      // A person may have paused it while it waited to judge again.
      await interventions.whilePaused();
      made += 1;
      const judgement = await judgeOnce(run, candidate, judge, made);
      if (judgement === 'again') continue;
      if (judgement === 'unjudged' || judgement.verdict === 'passed') return;
      await undecided(run, judge, judgement, made);
    }
  });
}

/**
 * @returns a judgement that passed or is inconclusive; `unjudged` if there is nothing to compare with; `again` if a
 * person accepts the revision that serves now as the one to replace.
 */
async function judgeOnce(
  run: PromotionRun,
  candidate: Candidate,
  judge: PromotionJudge,
  number: number,
): Promise<JudgementRecord | 'unjudged' | 'again'> {
  const { journal, request } = run;
  const { to } = request;
  const baseline = baselineOf(run);
  if (baseline === null) {
    journal.skipped('judge', `nothing serves on "${to.name}" to compare with`);
    return 'unjudged';
  }
  const { runId } = workflowInfo();
  const { artifact, revisionId, deploymentId, agentUrl } = candidate;
  const input: JudgementInput = {
    judgementId: `${request.name}/${runId}-${number}`,
    store: request.store,
    inputs: judge.inputs,
    settings: settingsOf(judge),
    sides: { baseline, candidate: { target: request.from, revisionId, deploymentId, agentUrl } },
  };
  const subject = `${shortArtifact(artifact)} against what serves on ${to.name}`;
  const found = { changed: false };
  try {
    return await journal.step('judge', subject, async (activities) => {
      const { report, location, attempt } = await activities.judgeCandidate(input);
      const judgement = recordOf(report, location, input);
      journal.note({ judgement });
      measure('slipway_judgements', 1, { verdict: judgement.verdict });
      const words = describeJudgement(judgement);
      switch (judgement.verdict) {
        case 'passed':
        case 'inconclusive':
          return { result: judgement, attempt, detail: words };
        case 'failed':
          throw pipelineFailure('SLIPWAY_CANDIDATE_WORSE', `the judge: ${words}`, false, attempt);
        case 'errored':
          found.changed = report.error?.code === 'SLIPWAY_NOT_SERVING';
          throw pipelineFailure('SLIPWAY_JUDGE_ERRORED', `the judge: ${words}`, false, attempt);
      }
    });
  } catch (error) {
    const isGone = found.changed || explain(error).code === 'SLIPWAY_NOT_FOUND';
    if (!isGone) throw error;
    if (!(await confirmTargets(run))) return 'again';
    const { before } = run;
    // A running release serves instead.
    if (before !== null && before.servingRevisionId !== baseline.revisionId) {
      const reason = whySuperseded(before, `revision ${baseline.revisionId}`);
      throw new PromotionEnded({ outcome: 'superseded', reason });
    }
    throw error;
  }
}

/** The side that serves on `to`; `null` if nothing serves there. */
function baselineOf({ before, request }: PromotionRun): JudgementInput['sides']['baseline'] | null {
  const { to } = request;
  if (before?.servingRevisionId == null || before.deploymentId === null) return null;
  const { servingRevisionId: revisionId, deploymentId, agentUrl } = before;
  if (agentUrl !== null) return { target: to, revisionId, deploymentId, agentUrl };
  throw new PromotionEnded({
    outcome: 'rejected',
    reason: `the agent's address on "${to.name}" is not known, so that nothing can be compared with it`,
  });
}

/** Repeated judgements share the error rate. All attempts of one judgement use the same seed. */
function settingsOf({ settings, onInconclusive, again }: PromotionJudge): JudgeSettings {
  const judgements = onInconclusive === 'wait' ? 1 + again.times : 1;
  const confidence = confidenceOfEach(settings.policy.confidence, judgements);
  return {
    ...settings,
    policy: { ...settings.policy, confidence },
    seed: Math.floor(Math.random() * 2 ** 32),
  };
}

function recordOf(
  { verdict, reasons }: JudgeReport,
  report: string,
  { sides }: JudgementInput,
): JudgementRecord {
  return {
    verdict,
    reasons,
    baselineRevisionId: sides.baseline.revisionId,
    candidateRevisionId: sides.candidate.revisionId,
    report,
    at: now(),
  };
}

/** Handles an inconclusive judgement: returns if it is to be judged again, or if a person skipped the judge. */
async function undecided(
  { interventions }: PromotionRun,
  { onInconclusive, again }: PromotionJudge,
  judgement: JudgementRecord,
  made: number,
): Promise<void> {
  const words = `the judge: ${describeJudgement(judgement)}`;
  if (onInconclusive === 'ask') {
    const choices = '"retry" judges again, "skip" of "judge" promotes without it, "abort" ends it';
    await interventions.ask(`${words}: ${choices}`, JUDGE);
  } else if (onInconclusive === 'wait' && made <= again.times) {
    await interventions.decision(`${words}: it is judged again later, or at "retry"`, again.afterMs, JUDGE);
  } else {
    throw pipelineFailure('SLIPWAY_JUDGE_INCONCLUSIVE', words);
  }
}
