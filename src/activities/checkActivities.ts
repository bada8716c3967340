import { Context } from '@temporalio/activity';

import { type RunApiClient } from '../clients/runApi.ts';
import { type Check, judge, type ObservedRun } from '../domain/check.ts';
import { SlipwayError } from '../domain/errors.ts';
import { type Activities, type RevisionInput } from './activities.ts';
import { callOptions } from './callOptions.ts';
import { type Connections } from './connections.ts';
import { withHeartbeat } from './heartbeat.ts';
import { type Untracked } from './track.ts';

/** Runs a check: a stateless run, streamed, so that nothing of it stays behind in a thread. */
export function checkActivities(connections: Connections): Untracked<Pick<Activities, 'runCheck'>> {
  return {
    runCheck: ({ agentUrl, check, ...revision }) =>
      withHeartbeat(
        () => check.name,
        async () => {
          await requireActive(connections, revision);
          const agent = connections.agent(revision.target, agentUrl);
          const { cancellationSignal } = Context.current();
          const { run, runId, feedbackLink } = await observe(agent, check, cancellationSignal);
          await requireActive(connections, revision);
          const judgement = judge(check.expect, run);
          const feedbackRecorded =
            check.feedbackKey === undefined
              ? null
              : await recordVerdict(connections, feedbackLink, judgement.passed, judgement.reasons);
          const { revisionId } = revision;
          const { latencyMs } = run;
          return {
            verdict: { check: check.name, revisionId, ...judgement, runId, latencyMs, feedbackRecorded },
          };
        },
      ),
  };
}

/** A check counts only when the revision being followed is the active one, before and after (design, rule 4). */
async function requireActive(
  connections: Connections,
  { target, deploymentId, revisionId }: RevisionInput,
): Promise<void> {
  const deployment = await connections.controlPlane(target).getDeployment(deploymentId, callOptions());
  if (deployment.active_revision_id === revisionId) return;
  throw new SlipwayError(
    'SLIPWAY_NOT_SERVING',
    `revision ${deployment.active_revision_id ?? 'none'} is active instead of ${revisionId}, so the check does not count`,
  );
}

interface Observation {
  readonly run: ObservedRun;
  readonly runId: string | null;
  readonly feedbackLink: string | null;
}

async function observe(agent: RunApiClient, check: Check, canceled: AbortSignal): Promise<Observation> {
  const started = performance.now();
  const timeout = AbortSignal.timeout(check.timeoutMs);
  const seen = { runId: null as string | null, feedbackLink: null as string | null, values: null as unknown };
  let error: string | undefined;
  const ended = (status: ObservedRun['status']): Observation => ({
    run: {
      status,
      values: seen.values,
      latencyMs: performance.now() - started,
      ...(error === undefined ? {} : { error }),
    },
    runId: seen.runId,
    feedbackLink: seen.feedbackLink,
  });
  try {
    const events = await agent.streamStatelessRun(
      {
        assistant_id: check.assistant,
        input: check.input,
        stream_mode: ['values'],
        on_disconnect: 'cancel',
        ...(check.feedbackKey === undefined ? {} : { feedback_keys: [check.feedbackKey] }),
      },
      // The signal alone bounds the run: a second timer might fire first, and look like a service that is silent.
      { signal: AbortSignal.any([canceled, timeout]), timeoutMs: 0 },
    );
    for await (const { event, data } of events) {
      if (event === 'metadata') seen.runId = textField(data, 'run_id');
      if (event === 'feedback' && check.feedbackKey !== undefined) {
        seen.feedbackLink = textField(data, check.feedbackKey);
      }
      if (event === 'values') seen.values = data;
      if (event === 'error') error = describeError(data);
    }
  } catch (failure) {
    if (timeout.aborted && !canceled.aborted) return ended('timeout');
    throw failure;
  }
  if (error !== undefined) return ended('error');
  return ended(isInterrupted(seen.values) ? 'interrupted' : 'success');
}

/** Records the verdict on the run's trace. The verdict stands whether or not that succeeds. */
async function recordVerdict(
  connections: Connections,
  link: string | null,
  passed: boolean,
  reasons: readonly string[],
): Promise<boolean> {
  if (link === null) return false;
  try {
    const comment = reasons.length === 0 ? {} : { comment: reasons.join('; ') };
    await connections.feedback().submit(link, { score: passed ? 1 : 0, ...comment }, callOptions());
    return true;
  } catch (error) {
    const context = Context.current();
    if (context.cancellationSignal.aborted) throw error;
    context.log.warn('the verdict could not be recorded through the feedback link', { error: String(error) });
    return false;
  }
}

function isInterrupted(values: unknown): boolean {
  return typeof values === 'object' && values !== null && '__interrupt__' in values;
}

function describeError(data: unknown): string {
  const name = textField(data, 'error');
  const message = textField(data, 'message');
  return [name, message].filter((part) => part !== null).join(': ') || JSON.stringify(data);
}

function textField(data: unknown, name: string): string | null {
  if (typeof data !== 'object' || data === null) return null;
  const value = (data as Record<string, unknown>)[name];
  return typeof value === 'string' ? value : null;
}
