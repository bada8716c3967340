import type { ServerResponse } from 'node:http';

import { describe, expect, it } from 'vitest';

import { answers, type FaultyService } from '../clients/faultyService.ts';
import {
  activitiesUnderTest,
  AGENT_KEY,
  API_KEY,
  DEPLOYMENT_ID,
  DEPLOYMENT_PATH,
  deploymentAnswer,
  failureOf,
  REVISION_PATH,
  revisionAnswer,
  awaitedOn,
  revisionOn,
  SECRET,
  startRoutes,
  targetOn,
} from './activitiesUnderTest.ts';

/** A target whose deployment has a secret, and whose agent has its own key. */
const fields = {
  secrets: [{ name: 'MODEL_KEY', from: 'env:SLIPWAY_TEST_SECRET' }],
  agentApiKey: { from: 'env:SLIPWAY_TEST_AGENT_KEY' },
};

/** A control plane whose deployment has this agent. */
function planeOf({ url }: FaultyService): Promise<FaultyService> {
  const deployment = deploymentAnswer({ source_config: { custom_url: url } });
  return startRoutes({ [`GET ${DEPLOYMENT_PATH}`]: answers(200, deployment) });
}

function writeEvents(response: ServerResponse, events: readonly { event: string; data: unknown }[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(
    events.map(({ event, data }) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`).join(''),
  );
}

describe('a secret of the target is removed from external texts', () => {
  it('in the reason of a failed revision', async () => {
    const plane = await startRoutes({
      [`GET ${REVISION_PATH}`]: answers(200, {
        ...revisionAnswer('DEPLOY_FAILED'),
        status_message: `MODEL_KEY=${SECRET} is refused`,
      }),
    });
    const { revision } = await activitiesUnderTest().awaitDeployed(awaitedOn(plane.url, fields));
    expect(revision.reason).toBe('MODEL_KEY=[removed] is refused');
  });

  it('in an error with one that the request did not contain', async () => {
    const plane = await startRoutes({
      [`GET ${DEPLOYMENT_PATH}`]: answers(500, { detail: `cannot decrypt ${SECRET}` }),
    });
    const reading = activitiesUnderTest().readDeployment({
      target: targetOn(plane.url, fields),
      deploymentId: DEPLOYMENT_ID,
    });
    const failure = await failureOf(reading);
    expect(failure.message).toContain('cannot decrypt [removed]');
  });

  it('in an agent’s answer and in the reasons of its verdict', async () => {
    const agent = await startRoutes({
      'POST /runs/stream': (_, response) =>
        writeEvents(response, [
          { event: 'metadata', data: { run_id: '1', attempt: 1 } },
          { event: 'values', data: { messages: [{ type: 'ai', content: `I run with ${AGENT_KEY}` }] } },
        ]),
    });
    const plane = await planeOf(agent);
    const { verdict } = await activitiesUnderTest().runCheck({
      ...revisionOn(plane.url, fields),
      agentUrl: agent.url,
      store: 'file:///nowhere',
      check: { name: 'greets', assistant: 'a', input: {}, expect: { contains: 'Hello' }, timeoutMs: 5_000 },
    });
    expect(verdict.answer).toBe('I run with [removed]');
    expect(verdict.reasons.join()).toContain('I run with [removed]');
  });

  it('in the error of an agent that does not answer', async () => {
    const agent = await startRoutes({ 'GET /ok': answers(503, { detail: `${SECRET} is not accepted` }) });
    const target = targetOn('http://control.example', fields);
    const { silent } = await activitiesUnderTest().askAgent({ target, agentUrl: agent.url });
    expect(silent).toContain('[removed] is not accepted');
  });

  it('in what a poll reports while it waits', async () => {
    const agent = await startRoutes({ 'GET /ok': answers(503, { detail: `${SECRET} is not accepted` }) });
    const plane = await planeOf(agent);
    const ending = new AbortController();
    const activities = activitiesUnderTest({}, ending.signal);
    const serving = failureOf(activities.confirmServing(revisionOn(plane.url, fields)));
    await expect.poll(() => activities.heartbeats.length).toBeGreaterThan(0);
    ending.abort();
    expect((await serving).message).toContain('[removed] is not accepted');
    expect(JSON.stringify(activities.heartbeats)).not.toContain(SECRET);
  });
});

describe('the control plane’s key is sent only to its allowed origins', () => {
  const keyAt = async (settings: (agentUrl: string) => Parameters<typeof targetOn>[1]) => {
    const agent = await startRoutes({ 'GET /ok': answers(200, { ok: true }) });
    const plane = await planeOf(agent);
    await activitiesUnderTest().confirmServing(revisionOn(plane.url, settings(agent.url)));
    return agent.requests[0]?.headers['x-api-key'];
  };

  it('not to any address that the control plane returns', async () => {
    expect(await keyAt(() => ({}))).toBeUndefined();
  });

  it('to an origin that the target lists', async () => {
    expect(await keyAt((url) => ({ agentOrigins: [url] }))).toBe(API_KEY);
  });

  it('to the address that the target configures', async () => {
    expect(await keyAt((url) => ({ agentUrl: url }))).toBe(API_KEY);
  });

  it('while an agent’s own key is sent to the agent', async () => {
    expect(await keyAt(() => ({ agentApiKey: { from: 'env:SLIPWAY_TEST_AGENT_KEY' } }))).toBe(AGENT_KEY);
  });

  it('so an agent that requires a key is rejected with the setting to make', async () => {
    const agent = await startRoutes({ 'POST /runs/stream': answers(401, { detail: 'no key' }) });
    const plane = await planeOf(agent);
    const checking = activitiesUnderTest().runCheck({
      ...revisionOn(plane.url),
      agentUrl: agent.url,
      store: 'file:///nowhere',
      check: { name: 'greets', assistant: 'a', input: {}, expect: {}, timeoutMs: 5_000 },
    });
    const { message } = await failureOf(checking);
    expect(message).toContain(`set targets.production.agentApiKey, or agentOrigins: ["${agent.url}"]`);
  });
});
