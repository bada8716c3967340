import { createHash } from 'node:crypto';

import { Context } from '@temporalio/activity';

import {
  type Answered,
  type CheckedAgent,
  type ConversationThread,
  removeThread,
} from '../../check/askAgent.ts';
import { isSilence } from '../../clients/serviceError.ts';
import { carryOut, type CheckProgress, NOTHING_MADE } from '../../check/carryOut.ts';
import { cutText } from '../../domain/bounds.ts';
import type { Spent } from '../../domain/check/budget.ts';
import type { Check } from '../../domain/check/check.ts';
import { repetitionsOf, repetitionsText } from '../../domain/check/repetition.ts';
import type { Dataset, ShownRun } from '../../domain/check/dataset.ts';
import { SlipwayError } from '../../domain/errors.ts';
import type { Activities, RevisionInput } from '../activities.ts';
import { toActivityFailure } from '../activityFailure.ts';
import { callingWorkflow } from '../callingWorkflow.ts';
import { callOptions } from '../callOptions.ts';
import type { Outside } from '../connections.ts';
import { knownSoFar, noteProgress, reportProgress } from '../heartbeat.ts';
import type { PollUntil } from '../polling.ts';
import { scrubText, scrubTexts, warn } from '../scrub.ts';
import type { Untracked } from '../track.ts';
import { runDatasetCheck } from './datasetCheck.ts';

/** Runs a check: stateless streamed runs, which leave nothing at the agent, or conversations. */
export function checkActivities(
  outside: Outside,
  pollUntil: PollUntil,
): Untracked<Pick<Activities, 'runCheck'>> {
  return {
    runCheck: async ({ agentUrl, store, check, budget, spent: before, begunAt, ...input }) => {
      const { restoring = false, ...revision } = input;
      await awaitActive(outside, pollUntil, revision);
      noteProgress(`check "${check.name}" runs`, knownSoFar());
      const { revisionId } = revision;
      let spent: Spent | undefined;
      const asked = {
        agent: outside.agent(revision.target, agentUrl),
        check,
        budget,
        evaluating: { pool: outside.evaluators(), revisionId, passesWithoutScore: restoring },
        onSpent: (taken: Spent): void => {
          if (budget !== undefined) spent = taken;
        },
      };
      const overDataset = (dataset: Dataset) =>
        runDatasetCheck({
          ...asked,
          dataset: restoring ? { ...dataset, undecided: 'pass' } : dataset,
          store: outside.openStore(store),
          resultsId: resumes()
            ? executionUuid(begunAt ?? Context.current().info.activityId, check.name)
            : null,
          confirm: () => requireActive(outside, revision),
          onAnswered: (answered) => shownRun(outside, store, check, answered),
        });
      const repeatedly = async () => {
        const begun = progressSoFar(before);
        await removeLeftThreads(asked.agent, check, begun);
        return carryOut({
          ...asked,
          begun,
          thread: (repetition) => threadOf(check, Context.current().info.attempt, repetition),
          onAnswered: async (answered) => {
            await requireActive(outside, revision);
            return shownRun(outside, store, check, answered);
          },
          onProgress: (progress) => reportRepetition(check, progress),
          signal: Context.current().cancellationSignal,
        });
      };
      try {
        const verdict = await (check.dataset === undefined ? repeatedly() : overDataset(check.dataset));
        return { verdict: { check: check.name, revisionId, ...verdict }, spent };
      } catch (error) {
        if (spent !== undefined && check.dataset === undefined && resumes())
          noteProgress(`check "${check.name}" failed`, { ...progressSoFar(before), spent });
        throw toActivityFailure(error, spent);
      }
    },
  };
}

/** Stores a repetition's whole answer, records the verdict on its run's trace, and returns what the verdict shows. */
async function shownRun(
  outside: Outside,
  store: string,
  { feedbackKey }: Check,
  { judgement: judged, seen }: Answered,
): Promise<ShownRun> {
  const { wholeAnswer, ...judgement } = judged;
  const { run, runId, feedbackLink } = seen;
  // What passes in a round of a watch is not reported, and a watch may have thousands of rounds.
  const isShown = resumes() || !judgement.passed;
  const isCut = wholeAnswer !== judgement.answer;
  const answerRecord =
    isCut && isShown ? await keepAnswer(outside, store, scrubText(wholeAnswer)) : undefined;
  const feedbackRecorded =
    feedbackKey === undefined
      ? null
      : await recordVerdict(outside, feedbackLink, judgement.passed, judgement.reasons);
  return { ...judgement, answerRecord, runId, latencyMs: run.latencyMs, feedbackRecorded };
}

/** Heartbeats the progress of a repeated check, so that the next attempt continues it. */
function reportRepetition(check: Check, progress: CheckProgress): void {
  const { planned, needed } = repetitionsOf(check);
  if (planned === 1) return;
  const { made, passed } = progress;
  const says = `check "${check.name}": ${repetitionsText({ made, passed, planned, needed })}`;
  reportProgress(says, resumes() ? scrubTexts(progress) : undefined);
}

/** Only a single check resumes. When a serving revision is watched, the next attempt is the next round. */
function resumes(): boolean {
  return Context.current().info.activityType === 'runCheck';
}

/** What this attempt, or else the previous one, has noted. @param before - what was spent before the first attempt. */
function progressSoFar(before: Spent = NOTHING_MADE.spent): CheckProgress {
  const known = resumes() ? knownSoFar() : undefined;
  return known === undefined ? { ...NOTHING_MADE, spent: before } : (known as CheckProgress);
}

/** Removes threads that the previous attempt may have left if its worker died. */
async function removeLeftThreads(agent: CheckedAgent, check: Check, { made }: CheckProgress): Promise<void> {
  const { attempt } = Context.current().info;
  if (check.turns === undefined || attempt === 1) return;
  for (let repetition = made; repetition < repetitionsOf(check).planned; repetition++) {
    const { id, onLeft } = threadOf(check, attempt - 1, repetition);
    await removeThread(agent, id).catch((error: unknown) => {
      if (!(error instanceof SlipwayError) || error.code !== 'SLIPWAY_NOT_FOUND') onLeft(id, error);
    });
  }
}

function threadOf({ name }: Check, attempt: number, repetition: number): ConversationThread {
  return {
    id: executionUuid(Context.current().info.activityId, name, attempt, repetition),
    onLeft: (threadId, error) => warn(`the thread ${threadId} of a check could not be removed`, error),
  };
}

/** A version 8 UUID of this run of the workflow and the given parts: the same in each attempt. */
function executionUuid(...parts: readonly (string | number)[]): string {
  const { workflowId, runId } = callingWorkflow();
  const text = [workflowId, runId, ...parts].join('/');
  const hex = createHash('sha256').update(text).digest('hex');
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/u, '$1-$2-8$3-8$4-$5');
}

/** Records the verdict on the run's trace. A failure does not change the verdict. */
async function recordVerdict(
  outside: Outside,
  link: string | null,
  passed: boolean,
  reasons: readonly string[],
): Promise<boolean> {
  if (link === null) return false;
  try {
    const comment = reasons.length === 0 ? {} : { comment: scrubText(reasons.join('; ')) };
    await outside.feedback().submit(link, { score: passed ? 1 : 0, ...comment }, callOptions());
    return true;
  } catch (error) {
    if (Context.current().cancellationSignal.aborted) throw error;
    warn('the verdict could not be recorded through the feedback link', error);
    return false;
  }
}

/** Longer answers are cut to this size before they are stored, as JSON. */
const KEPT_MAX_BYTES = 1_000_000;

/**
 * Stores a whole answer with the artifact store's records, under its digest. Idempotent.
 * @returns the record's name; `undefined` if the store is unavailable, which does not change the verdict.
 */
async function keepAnswer(outside: Outside, store: string, answer: string): Promise<string | undefined> {
  const kept = cutText(answer, KEPT_MAX_BYTES);
  const digest = createHash('sha256').update(kept).digest('hex');
  // No target's name begins with `_`, so this cannot collide with the releases' records.
  const name = `_answers/${digest}.json`;
  try {
    await outside.openStore(store).putRecord(name, kept);
    return name;
  } catch (error) {
    warn('an answer could not be kept in the artifact store', error);
    return undefined;
  }
}

/**
 * {@link requireActive}, once the control plane answers. Its silence says nothing about the revision, and it could not
 * restore another one meanwhile: a check waits for it for up to a minute in each of its attempts.
 */
async function awaitActive(outside: Outside, pollUntil: PollUntil, revision: RevisionInput): Promise<void> {
  await pollUntil('SLIPWAY_UNREACHABLE', async () => {
    try {
      await requireActive(outside, revision);
      return { found: undefined };
    } catch (error) {
      if (!isSilence(error)) throw error;
      return { insteadOf: error.message };
    }
  });
}

/**
 * A check counts only if the revision that it checks is the active one, both before and after
 * (design, rule 4).
 * @throws SLIPWAY_NOT_SERVING if another revision is active.
 */
export async function requireActive(
  outside: Outside,
  { target, deploymentId, revisionId }: RevisionInput,
): Promise<void> {
  const deployment = await outside.controlPlane(target).getDeployment(deploymentId, callOptions());
  if (deployment.active_revision_id === revisionId) return;
  throw new SlipwayError(
    'SLIPWAY_NOT_SERVING',
    `revision ${deployment.active_revision_id ?? 'none'} is active instead of ${revisionId}, so it does not count`,
  );
}
