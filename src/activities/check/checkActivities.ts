import { createHash } from 'node:crypto';

import { Context } from '@temporalio/activity';

import { askAgent, type CheckedAgent, type ConversationThread, removeThread } from '../../check/askAgent.ts';
import { cutText } from '../../domain/bounds.ts';
import type { Check } from '../../domain/check/check.ts';
import { SlipwayError } from '../../domain/errors.ts';
import type { Activities, RevisionInput } from '../activities.ts';
import { callOptions } from '../callOptions.ts';
import type { Outside } from '../connections.ts';
import { noteProgress } from '../heartbeat.ts';
import { scrubText } from '../scrub.ts';
import type { Untracked } from '../track.ts';

/** Runs a check: a stateless run, streamed, so that nothing of it stays behind in a thread. */
export function checkActivities(outside: Outside): Untracked<Pick<Activities, 'runCheck'>> {
  return {
    runCheck: async ({ agentUrl, store, check, ...revision }) => {
      noteProgress(`check "${check.name}" runs`);
      await requireActive(outside, revision);
      const agent = outside.agent(revision.target, agentUrl);
      const { cancellationSignal } = Context.current();
      const thread = await freshThread(agent, check);
      const { judgement: judged, seen } = await askAgent(agent, check, thread, cancellationSignal);
      const { run, runId, feedbackLink } = seen;
      await requireActive(outside, revision);
      const { wholeAnswer, ...judgement } = judged;
      const isWhole = wholeAnswer === judgement.answer;
      const answerRecord = isWhole ? undefined : await keepAnswer(outside, store, scrubText(wholeAnswer));
      const feedbackRecorded =
        check.feedbackKey === undefined
          ? null
          : await recordVerdict(outside, feedbackLink, judgement.passed, judgement.reasons);
      const { revisionId } = revision;
      const { latencyMs } = run;
      return {
        verdict: {
          check: check.name,
          revisionId,
          ...judgement,
          answerRecord,
          runId,
          latencyMs,
          feedbackRecorded,
        },
      };
    },
  };
}

/** A thread of this attempt's own. That of the attempt before, which its worker's death may have left, is removed. */
async function freshThread(agent: CheckedAgent, { name, turns }: Check): Promise<ConversationThread> {
  const { info, log } = Context.current();
  const { workflowExecution, activityId, attempt } = info;
  const { workflowId = '', runId = '' } = workflowExecution ?? {};
  const idOf = (of: number): string => uuidOf([workflowId, runId, activityId, name, of].join('/'));
  const onLeft = (error: unknown): void => {
    log.warn('the thread of a check could not be removed', { error: scrubText(String(error)) });
  };
  if (turns !== undefined && attempt > 1) await removeThread(agent, idOf(attempt - 1)).catch(ifThere(onLeft));
  return { id: idOf(attempt), onLeft };
}

function ifThere(onLeft: ConversationThread['onLeft']): ConversationThread['onLeft'] {
  return (error) => {
    if (!(error instanceof SlipwayError) || error.code !== 'SLIPWAY_NOT_FOUND') onLeft(error);
  };
}

/** A uuid that a text always gives, of the form of version 8. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/u, '$1-$2-8$3-8$4-$5');
}

/** Records the verdict on the run's trace. The verdict stands whether or not that succeeds. */
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
    const context = Context.current();
    if (context.cancellationSignal.aborted) throw error;
    context.log.warn('the verdict could not be recorded through the feedback link', {
      error: scrubText(String(error)),
    });
    return false;
  }
}

/** Of an answer, as JSON. */
const KEPT_MAX_BYTES = 1_000_000;

/**
 * Keeps a whole answer among the records of the artifact store, under its digest. Keeping it again changes nothing.
 *
 * @returns the record's name; `undefined` if the store is away: the verdict stands without it.
 */
async function keepAnswer(outside: Outside, store: string, answer: string): Promise<string | undefined> {
  const kept = cutText(answer, KEPT_MAX_BYTES);
  const digest = createHash('sha256').update(kept).digest('hex');
  // No target's name begins so: its releases' records stand beside.
  const name = `_answers/${digest}.json`;
  try {
    await outside.openStore(store).putRecord(name, kept);
    return name;
  } catch (error) {
    Context.current().log.warn('an answer could not be kept in the artifact store', { error: String(error) });
    return undefined;
  }
}

/**
 * What is asked of an agent counts only when the revision that it is asked about is the active one, before and after
 * (design, rule 4).
 *
 * @throws SLIPWAY_NOT_SERVING where another one is active.
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
