import { getEventListeners } from 'node:events';

import { ApplicationFailureCategory } from '@temporalio/common';
import { CancelledFailure } from '@temporalio/activity';
import { describe, expect, it } from 'vitest';

import { pausesUntil, pollsUntilShutdown } from '../../../src/activities/polling.ts';
import { answers, closedPort, type FaultyService, inTurn, json, until } from '../../clients/faultyService.ts';
import {
  activitiesUnderTest,
  AGENT_KEY,
  DEPLOYMENT_ID,
  DEPLOYMENT_PATH,
  deploymentAnswer,
  failureOf,
  OTHER_REVISION_ID,
  REVISION_PATH,
  revisionAnswer,
  awaitedOn,
  revisionOn,
  startRoutes,
  targetOn,
} from '../activitiesUnderTest.ts';

/** A control plane that answers these statuses of its revision, one per read, and then repeats the last. */
function planeWithStatuses(...statuses: readonly string[]): Promise<FaultyService> {
  const status = inTurn(statuses);
  return startRoutes({
    [`GET ${REVISION_PATH}`]: (_, response) => json(response, 200, revisionAnswer(status() ?? '')),
    [`GET ${DEPLOYMENT_PATH}`]: answers(200, deploymentAnswer({ active_revision_id: OTHER_REVISION_ID })),
  });
}

/** A control plane that answers these active revisions, one per read, and then repeats the last. */
function planeWithActive(
  agentUrl: string | null,
  ...active: readonly (string | null)[]
): Promise<FaultyService> {
  const activeNow = inTurn(active);
  return startRoutes({
    [`GET ${DEPLOYMENT_PATH}`]: (_, response) => {
      const config = { source_config: { custom_url: agentUrl } };
      json(response, 200, deploymentAnswer({ ...config, active_revision_id: activeNow() }));
    },
    [`GET ${REVISION_PATH}`]: answers(200, revisionAnswer('DEPLOYING')),
  });
}

/** An agent whose `GET /ok` answers these statuses in turn, and then repeats the last. */
function agentThatAnswers(...statuses: readonly number[]): Promise<FaultyService> {
  const status = inTurn(statuses);
  return startRoutes({ 'GET /ok': (_, response) => json(response, status() ?? 0, { ok: true }) });
}

const { revisionId: REVISION } = revisionOn('http://plane.example');

it.each(['awaitDeployed', 'confirmServing'] as const)(
  '%s polls once within a workflow task, without a heartbeat, and leaves the rest to the server',
  async (name) => {
    const plane = await planeWithActive('http://agent.example', OTHER_REVISION_ID);
    const { heartbeats, ...activities } = activitiesUnderTest({
      isLocal: true,
      heartbeatTimeoutMs: undefined,
    });
    const failure = await failureOf(activities[name](awaitedOn(plane.url)));
    expect(failure.category).toBe(ApplicationFailureCategory.BENIGN);
    expect(plane.requests).toHaveLength(1);
    expect(heartbeats).toEqual([]);
  },
);

describe('awaitDeployed', () => {
  it.each(['DEPLOYED', 'CREATE_FAILED', 'BUILD_FAILED', 'DEPLOY_FAILED', 'SKIPPED', 'INTERRUPTED'])(
    'returns at %s',
    async (status) => {
      const plane = await planeWithStatuses(status);
      const { revision } = await activitiesUnderTest().awaitDeployed(awaitedOn(plane.url));
      expect(revision.status).toBe(status);
      expect(plane.requests).toHaveLength(1);
    },
  );

  it.each([
    { since: 0, isFinal: false },
    { since: 10_000, isFinal: true },
  ])('takes a 404 for a lagging read only at first ($since ms: final is $isFinal)', async (row) => {
    const plane = await startRoutes({});
    // The worker's clock is ahead of Temporal's.
    const scheduledTimestampMs = Date.now() - 600_000;
    const currentAttemptScheduledTimestampMs = scheduledTimestampMs + row.since;
    const activities = activitiesUnderTest({ scheduledTimestampMs, currentAttemptScheduledTimestampMs });
    const failure = await failureOf(activities.awaitDeployed(awaitedOn(plane.url)));
    expect(failure).toMatchObject({ type: 'SLIPWAY_NOT_FOUND', nonRetryable: row.isFinal });
  });

  it('continues at unknown statuses, with a heartbeat at each poll', async () => {
    const plane = await planeWithStatuses('BUILDING', 'A_STATUS_OF_TOMORROW', 'DEPLOYED');
    const activities = activitiesUnderTest({ attempt: 2 });
    const { revision, attempt } = await activities.awaitDeployed(awaitedOn(plane.url));
    expect(revision.status).toBe('DEPLOYED');
    expect(attempt).toBe(2);
    expect(activities.said()).toEqual([
      `revision ${REVISION} is BUILDING`,
      `revision ${REVISION} is A_STATUS_OF_TOMORROW`,
    ]);
  });

  it('reports since when the control plane has this status, also over attempts', async () => {
    const before = { says: `revision ${REVISION} is BUILDING`, since: '2026-11-21T12:00:00.000Z' };
    const plane = await planeWithStatuses('BUILDING', 'DEPLOYING', 'DEPLOYED');
    const activities = activitiesUnderTest({ attempt: 2, heartbeatDetails: before });
    await activities.awaitDeployed(awaitedOn(plane.url));
    expect(activities.heartbeats[0]).toEqual(before);
    expect(activities.heartbeats.at(-1)).toMatchObject({ says: `revision ${REVISION} is DEPLOYING` });
    expect(activities.heartbeats.at(-1)).not.toMatchObject({ since: before.since });
  });

  it('heartbeats while the control plane is slow to answer', async () => {
    const activities = activitiesUnderTest();
    const plane = await startRoutes({
      [`GET ${REVISION_PATH}`]: (_, response) =>
        void until(() => activities.heartbeats.length > 0).then(() =>
          json(response, 200, revisionAnswer('DEPLOYED')),
        ),
    });
    await activities.awaitDeployed(awaitedOn(plane.url));
  });

  it('ends benignly for a retry when the worker shuts down', async () => {
    const plane = await planeWithStatuses('BUILDING');
    const shuttingDown = new AbortController();
    const activities = activitiesUnderTest({}, shuttingDown.signal);
    const handedBack = failureOf(activities.awaitDeployed(awaitedOn(plane.url)));
    await until(() => activities.heartbeats.length > 0);
    shuttingDown.abort();
    const failure = await handedBack;
    expect(failure).toMatchObject({
      type: 'SLIPWAY_STEP_TIMED_OUT',
      nonRetryable: false,
      category: ApplicationFailureCategory.BENIGN,
      message: `revision ${REVISION} is BUILDING`,
    });
    expect(failure.nextRetryDelay).toBeGreaterThan(0);
  });

  it('stops when it is cancelled', async () => {
    const plane = await planeWithStatuses('BUILDING');
    const activities = activitiesUnderTest();
    const canceled = expect(activities.awaitDeployed(awaitedOn(plane.url))).rejects.toBeInstanceOf(
      CancelledFailure,
    );
    await until(() => activities.heartbeats.length > 0);
    activities.environment.cancel();
    await canceled;
    expect(plane.requests.length).toBeLessThanOrEqual(2);
  });

  it('fails for a retry if the control plane fails', async () => {
    const plane = await startRoutes({ [`GET ${REVISION_PATH}`]: answers(502, {}) });
    const activities = activitiesUnderTest();
    const failure = await failureOf(activities.awaitDeployed(awaitedOn(plane.url)));
    expect(failure).toMatchObject({ type: 'SLIPWAY_SERVICE_ERROR', nonRetryable: false });
    // Temporal drops this attempt's failure when the next one starts. Only heartbeat details survive.
    expect(activities.heartbeats.at(-1)).toMatchObject({ says: failure.message });
  });
});

describe('confirmServing', () => {
  it('waits until the revision is the active one', async () => {
    const agent = await agentThatAnswers(200);
    const plane = await planeWithActive(agent.url, null, OTHER_REVISION_ID, REVISION);
    const activities = activitiesUnderTest();
    expect(await activities.confirmServing(revisionOn(plane.url))).toEqual({
      agentUrl: agent.url,
      attempt: 1,
    });
    expect(activities.said()).toEqual([
      `revision none is active instead of ${REVISION}`,
      `revision ${OTHER_REVISION_ID} is active instead of ${REVISION}`,
    ]);
    expect(agent.requests).toHaveLength(1);
  });

  it('ends immediately if an abandoned revision becomes the active one instead', async () => {
    const plane = await planeWithActive(null, null, OTHER_REVISION_ID);
    const input = { ...revisionOn(plane.url), overtakers: [OTHER_REVISION_ID] };
    const failure = await failureOf(activitiesUnderTest().confirmServing(input));
    expect(failure).toMatchObject({ type: 'SLIPWAY_REVISION_REPLACED', nonRetryable: true });
    expect(failure.message).toContain(`revision ${OTHER_REVISION_ID} became active after ${REVISION}`);
  });

  it.each([
    { of: { source_tarball_path: 'one' }, newer: { source_tarball_path: 'one' }, isCopy: true },
    { of: { source_tarball_path: 'one' }, newer: { source_tarball_path: 'two' }, isCopy: false },
    { of: { repo_ref: 'main' }, newer: { repo_ref: 'main' }, isCopy: false },
    { of: { repo_commit_sha: 'c1' }, newer: { repo_commit_sha: 'c1' }, isCopy: true },
  ])('takes a newer active revision of $newer for a copy of one of $of: $isCopy', async (row) => {
    const agent = await agentThatAnswers(200);
    const plane = await startRoutes({
      [`GET ${DEPLOYMENT_PATH}`]: (_, response) => {
        const ids = { active_revision_id: OTHER_REVISION_ID, latest_revision_id: OTHER_REVISION_ID };
        const source = { source_revision_config: row.newer };
        const config = { source_config: { custom_url: agent.url } };
        json(response, 200, deploymentAnswer({ ...ids, ...source, ...config }));
      },
      [`GET ${REVISION_PATH}`]: (_, response) => {
        const source = { source_revision_config: row.of };
        json(response, 200, { ...revisionAnswer('DEPLOYED'), ...source });
      },
    });
    const activities = activitiesUnderTest({ isLocal: true, heartbeatTimeoutMs: undefined });
    const seen = activities.confirmServing({ ...revisionOn(plane.url), latestBefore: REVISION });
    if (row.isCopy) expect(await seen).toMatchObject({ copyId: OTHER_REVISION_ID });
    else expect(await failureOf(seen)).toMatchObject({ type: 'SLIPWAY_NOT_SERVING' });
  });

  it.each([502, 503, 504])('treats a gateway’s %i as "not yet"', async (status) => {
    const agent = await agentThatAnswers(status, 200);
    const plane = await planeWithActive(agent.url, REVISION);
    await activitiesUnderTest().confirmServing(revisionOn(plane.url));
    expect(agent.requests).toHaveLength(2);
  });

  it('treats a gateway’s 404 for the deployment as "not yet"', async () => {
    const status = inTurn([404, 200]);
    const detail = `Deployment ID ${DEPLOYMENT_ID} not found.`;
    const agent = await startRoutes({
      'GET /ok': (_, response) => json(response, status() ?? 0, { ok: true, detail }),
    });
    const plane = await planeWithActive(agent.url, REVISION);
    await activitiesUnderTest().confirmServing(revisionOn(plane.url));
    expect(agent.requests).toHaveLength(2);
  });

  it.each([401, 404, 500])('treats a %i as a serving agent', async (status) => {
    const agent = await agentThatAnswers(status);
    const plane = await planeWithActive(agent.url, REVISION);
    const { agentUrl } = await activitiesUnderTest().confirmServing(revisionOn(plane.url));
    expect(agentUrl).toBe(agent.url);
    expect(agent.requests).toHaveLength(1);
  });

  it('treats a rejected connection as "not yet"', async () => {
    const plane = await planeWithActive(await closedPort(), REVISION);
    const shuttingDown = new AbortController();
    shuttingDown.abort();
    const activities = activitiesUnderTest({}, shuttingDown.signal);
    const failure = await failureOf(activities.confirmServing(revisionOn(plane.url)));
    expect(failure).toMatchObject({
      type: 'SLIPWAY_NOT_SERVING',
      nonRetryable: false,
      category: ApplicationFailureCategory.BENIGN,
    });
    expect(failure.message).toContain('the agent does not answer');
  });

  it('calls the agent at the target’s address before the control plane’s, with the agent’s key', async () => {
    const agent = await agentThatAnswers(200);
    const plane = await planeWithActive('http://elsewhere.example', REVISION);
    const agentApiKey = { from: 'env:SLIPWAY_TEST_AGENT_KEY' };
    const input = revisionOn(plane.url, { agentUrl: agent.url, agentApiKey });
    expect((await activitiesUnderTest().confirmServing(input)).agentUrl).toBe(agent.url);
    expect(agent.requests[0]?.headers['x-api-key']).toBe(AGENT_KEY);
  });

  it('is final, with the setting to make, if there is no address', async () => {
    const plane = await planeWithActive(null, REVISION);
    const failure = await failureOf(activitiesUnderTest().confirmServing(revisionOn(plane.url)));
    expect(failure).toMatchObject({ type: 'SLIPWAY_CONFIG_INVALID', nonRetryable: true });
    expect(failure.message).toContain('set targets.production.agentUrl');
  });
});

describe('askAgent', () => {
  const ask = (agentUrl: string, target = {}) =>
    activitiesUnderTest().askAgent({ target: targetOn('http://plane.example', target), agentUrl });

  it.each([200, 404, 500])('accepts a %i as an answer', async (status) => {
    expect((await ask((await agentThatAnswers(status)).url)).silent).toBeNull();
  });

  it.each([502, 503, 504])('does not accept a gateway’s %i as an answer', async (status) => {
    expect((await ask((await agentThatAnswers(status)).url)).silent).toContain('the agent does not answer');
  });

  it('does not accept a gateway’s 404 for the deployment as an answer', async () => {
    const agent = await startRoutes({
      'GET /ok': answers(404, { detail: `Deployment ID ${DEPLOYMENT_ID} not found.` }),
    });
    expect((await ask(agent.url)).silent).toContain('the agent does not answer');
  });

  it('reports if nothing listens, the key is rejected, or the worker has none', async () => {
    expect((await ask(await closedPort())).silent).toContain('the agent does not answer');
    expect((await ask((await agentThatAnswers(401)).url)).silent).toContain('takes no key of these settings');
    const without = await ask('http://agent.example', { agentApiKey: { from: 'env:SLIPWAY_TEST_NOT_SET' } });
    expect(without.silent).toContain('takes no key of these settings');
  });
});

describe('awaitLateSuccess', () => {
  const LATER = '2100-01-01T00:00:00.000Z';

  it('detects a revision that becomes active late', async () => {
    const plane = await planeWithActive(null, OTHER_REVISION_ID, REVISION);
    expect(await activitiesUnderTest().awaitLateSuccess({ ...revisionOn(plane.url), until: LATER })).toEqual({
      cameUp: true,
      attempt: 1,
    });
  });

  it('ends if the revision has failed, but not if it is deployed without being active', async () => {
    const plane = await planeWithStatuses('DEPLOYED', 'DEPLOY_FAILED');
    const activities = activitiesUnderTest();
    const late = { ...revisionOn(plane.url), until: LATER };
    expect((await activities.awaitLateSuccess(late)).cameUp).toBe(false);
    expect(activities.said()).toEqual([`revision ${REVISION} is DEPLOYED and not active`]);
  });

  it('polls once if the deadline has passed before it begins', async () => {
    const until = '2026-01-01T00:00:00.000Z';
    const active = await planeWithActive(null, REVISION);
    const late = activitiesUnderTest().awaitLateSuccess({ ...revisionOn(active.url), until });
    expect((await late).cameUp).toBe(true);
    const building = await planeWithStatuses('BUILDING');
    const never = activitiesUnderTest().awaitLateSuccess({ ...revisionOn(building.url), until });
    expect((await never).cameUp).toBe(false);
  });
});

describe('polls that wait at the same time', () => {
  it('share one listener of the worker’s shutdown, and all of them end for a retry', async () => {
    const POLLS = 20;
    const plane = await planeWithStatuses('BUILDING');
    const shutdown = new AbortController();
    const activities = Array.from({ length: POLLS }, () => activitiesUnderTest({}, shutdown.signal));
    const pollUntil = pollsUntilShutdown(shutdown.signal, pausesUntil(shutdown.signal));
    const before = getEventListeners(shutdown.signal, 'abort').length;
    const handedBack = activities.map(({ environment }) =>
      failureOf(environment.run(() => pollUntil('SLIPWAY_STEP_TIMED_OUT', () => look(plane)))),
    );
    await until(() => plane.requests.length >= 2 * POLLS);
    expect(getEventListeners(shutdown.signal, 'abort')).toHaveLength(before);
    shutdown.abort();
    for (const failure of await Promise.all(handedBack)) {
      expect(failure.category).toBe(ApplicationFailureCategory.BENIGN);
    }
  });

  async function look({ url }: FaultyService): Promise<{ readonly insteadOf: string }> {
    await fetch(`${url}${DEPLOYMENT_PATH}`);
    return { insteadOf: 'nothing yet' };
  }
});
