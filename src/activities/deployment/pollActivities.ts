import { setTimeout as delay } from 'node:timers/promises';

import { Context } from '@temporalio/activity';

import { isSameSource } from '../../clients/controlPlane.ts';
import { isAgentAway, ServiceError } from '../../clients/serviceError.ts';
import { revisionPhase, type RevisionSnapshot } from '../../domain/deployment/revision.ts';
import { SlipwayError } from '../../domain/errors.ts';
import { CREDENTIAL_FAILED } from '../../domain/failure.ts';
import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import type { Activities } from '../activities.ts';
import { notYet } from '../activityFailure.ts';
import { callOptions } from '../callOptions.ts';
import type { Outside } from '../connections.ts';
import type { PollUntil } from '../polling.ts';
import { attemptClock, type Clock, temporalTime } from '../temporalTime.ts';
import type { Untracked } from '../track.ts';
import { despiteReadLag } from './deploymentActivities.ts';
import type { RequestRates } from './requestRates.ts';
import { leaveToPoller } from './revisionPoller.ts';
import { type Deployment, revisionSnapshot } from './snapshots.ts';

/** The poller to which a release hands over a revision that takes long. */
export interface Poller {
  readonly taskQueue: string;
  /** How long the release polls by itself, in milliseconds. */
  readonly afterMs: number;
  /** Shared by the requests of releases and of the poller. */
  readonly rates: RequestRates;
}

/**
 * Activities that repeat a call until a condition holds.
 * @param now - default: {@link temporalTime}.
 * @param poller - default: none; then a release polls for as long as it waits.
 */
export function pollActivities(
  outside: Outside,
  pollUntil: PollUntil,
  now: Clock = temporalTime,
  poller?: Poller,
): Untracked<Pick<Activities, 'awaitDeployed' | 'confirmServing' | 'askAgent' | 'awaitLateSuccess'>> {
  return {
    awaitDeployed: async ({ target, deploymentId, revisionId, since, until }) => {
      const client = outside.controlPlane(target);
      const ask = async (): Promise<RevisionSnapshot> =>
        revisionSnapshot(await client.getRevision(deploymentId, revisionId, callOptions()));
      const clock = attemptClock();
      const isLeft = (): boolean => poller !== undefined && clock() >= since + poller.afterMs;
      const revision = await pollUntil<RevisionSnapshot>('SLIPWAY_STEP_TIMED_OUT', async () => {
        const look = () => (poller === undefined ? ask() : askInTurn(target, poller, ask));
        const seen = await despiteReadLag(look);
        return revisionPhase(seen.status) === 'pending' && !isLeft()
          ? { insteadOf: `revision ${revisionId} is ${seen.status}` }
          : { found: seen };
      });
      const { status } = revision;
      if (revisionPhase(status) === 'pending' && poller !== undefined) {
        const waiting = { deploymentId, revisionId, status, since, until };
        await leaveToPoller(target, poller.taskQueue, waiting);
      }
      return { revision };
    },

    confirmServing: async (input) => {
      const client = outside.controlPlane(input.target);
      return pollUntil('SLIPWAY_NOT_SERVING', () => lookForServing(outside, client, input));
    },

    askAgent: async ({ target, agentUrl }) => {
      try {
        await outside.agent(target, agentUrl).ok(callOptions());
      } catch (error) {
        if (!(error instanceof SlipwayError)) throw error;
        if (isAgentAway(error)) return { silent: `the agent does not answer: ${error.message}` };
        const { code, message } = error;
        if (CREDENTIAL_FAILED.has(code))
          return { silent: `the agent takes no key of these settings: ${message}` };
      }
      return { silent: null };
    },

    awaitLateSuccess: async ({ target, deploymentId, revisionId, until }) => {
      const client = outside.controlPlane(target);
      const cameUp = await pollUntil<boolean>('SLIPWAY_STEP_TIMED_OUT', async () => {
        const deployment = await client.getDeployment(deploymentId, callOptions());
        if (deployment.active_revision_id === revisionId) return { found: true };
        const { status } = await client.getRevision(deploymentId, revisionId, callOptions());
        return revisionPhase(status) === 'failed' || (await now(Date.parse(until))) >= Date.parse(until)
          ? { found: false }
          : { insteadOf: `revision ${revisionId} is ${status} and not active` };
      });
      return { cameUp };
    },
  };
}

/** One look of `confirmServing`: whether the revision, or its copy, is active and its agent answers. */
async function lookForServing(
  outside: Outside,
  client: Client,
  input: Serving,
): Promise<{ found: { agentUrl: string; copyId?: string } } | { insteadOf: string }> {
  const { target, deploymentId, revisionId, overtakers = [] } = input;
  const deployment = await client.getDeployment(deploymentId, callOptions());
  const active = deployment.active_revision_id;
  if (active !== null && overtakers.includes(active)) {
    throw new SlipwayError(
      'SLIPWAY_REVISION_REPLACED',
      `revision ${active} became active after ${revisionId}`,
    );
  }
  const copyId = active !== null && (await isCopy(client, input, deployment)) ? active : undefined;
  if (active !== revisionId && copyId === undefined) {
    return { insteadOf: `revision ${active ?? 'none'} is active instead of ${revisionId}` };
  }
  const url = target.agentUrl ?? deployment.source_config.custom_url;
  if (url == null) throw noAgentUrl(target);
  const silent = await whySilent(outside, target, url);
  return silent === undefined ? { found: { agentUrl: url, copyId } } : { insteadOf: silent };
}

type Serving = Parameters<Activities['confirmServing']>[0];
type Client = ReturnType<Outside['controlPlane']>;

/** Whether the active revision is a copy that a redeploy made although its answer named none. */
async function isCopy(
  client: Client,
  { deploymentId, revisionId, latestBefore }: Serving,
  { latest_revision_id: latest, active_revision_id: active, source_revision_config: source }: Deployment,
): Promise<boolean> {
  if (latestBefore === undefined || latest === latestBefore) return false;
  if (latest === null || latest !== active) return false;
  const original = await client.getRevision(deploymentId, revisionId, callOptions());
  return isSameSource(source, original.source_revision_config);
}

/** How long a poll waits for its turn; then the next attempt calls. */
const LONGEST_TURN_MS = 5_000;

/** Calls the control plane at the rate that all polls share. If it asks for a pause, all of them wait. */
async function askInTurn<T>(
  { controlPlane }: TargetSpec,
  { rates }: Poller,
  ask: () => Promise<T>,
): Promise<T> {
  const waitMs = rates.reserve(controlPlane) - performance.now();
  if (waitMs > LONGEST_TURN_MS) {
    throw notYet('SLIPWAY_STEP_TIMED_OUT', 'the control plane asks for a pause', LONGEST_TURN_MS);
  }
  if (waitMs > 0) await delay(waitMs, undefined, { signal: Context.current().cancellationSignal });
  try {
    return await ask();
  } catch (error) {
    if (error instanceof ServiceError) rates.rest(controlPlane, error);
    throw error;
  }
}

/** Why the agent does not answer; `undefined` if it does, even with an error that is not a gateway's. */
async function whySilent(
  outside: Outside,
  target: TargetSpec,
  agentUrl: string,
): Promise<string | undefined> {
  try {
    await outside.agent(target, agentUrl).ok(callOptions());
    return undefined;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return isAgentAway(error) ? `the agent does not answer: ${error.message}` : undefined;
  }
}

function noAgentUrl(target: TargetSpec): SlipwayError {
  return new SlipwayError('SLIPWAY_CONFIG_INVALID', 'the control plane gives no address of the agent', {
    hint: `set targets.${target.name}.agentUrl`,
  });
}
