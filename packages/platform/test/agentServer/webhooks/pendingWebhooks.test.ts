/* eslint-disable @typescript-eslint/no-unsafe-return -- answers are judged by what the tests expect of them */
import { describe, expect, it } from 'vitest';

import { startService } from '../../../../../test/clients/faultyService.ts';
import { FIXTURE_AGENT, until } from '../agentUnderTest.ts';
import { DURABLE_AGENT, PATIENCE_MS, useAgentProcesses } from '../durableAgents.ts';

const agents = useAgentProcesses(DURABLE_AGENT);
const env = { SLIPWAY_AGENT_WEBHOOK_ALLOW: '127.0.0.1' };

/** Ends a run with a webhook whose receiver refuses it, in an agent of that deployment. */
async function refusedWebhook(deployment: string, thread: 'thread' | 'no thread') {
  const agent = await agents.start(deployment, env);
  const scene = agents.scene();
  await scene.open();
  const answer = { status: 503 };
  const receiver = await startService((_, response) => response.writeHead(answer.status).end());
  const path = thread === 'thread' ? `/threads/${await agent.api.thread()}/runs/wait` : '/runs/wait';
  const ended = await agent.api.send('POST', path, {
    assistant_id: 'work',
    input: scene.input('x'),
    webhook: receiver.url,
  });
  const values = await ended.json();
  await until(() => Promise.resolve(receiver.requests.length > 0), 'the webhook was refused', PATIENCE_MS);
  const run = async () => {
    const [row] = await agents.query('select * from slipway_agent.runs where deployment_id = $1', [
      deployment,
    ]);
    return row;
  };
  const isSettled = () =>
    until(async () => (await run()).webhook_due === null, 'the webhook is settled', PATIENCE_MS);
  return { agent, answer, receiver, values, run, isSettled };
}

it('a webhook that its receiver accepts does not remove values that no checkpoint has', async () => {
  const agent = await agents.start('accepted', env, FIXTURE_AGENT);
  const receiver = await startService((_, response) => response.end());
  const thread = await agent.api.thread();
  const body = { assistant_id: 'forgetful', input: { text: 'x' }, webhook: receiver.url };
  const answer = await agent.api.wait(thread, body);
  const due = `select run_id from slipway_agent.runs where thread_id = $1 and webhook_due is null`;
  const accepted = async () => (await agents.query(due, [thread]))[0];
  const run = (await until(accepted, 'the webhook is accepted', PATIENCE_MS)) as { run_id: string };
  expect(await agent.api.join(thread, run.run_id)).toEqual(answer);
}, 240_000);

describe('a webhook that its receiver has not accepted', { timeout: 240_000 }, () => {
  it.each(['thread', 'no thread'] as const)(
    'is sent by the next process, with the same body, if the process that ended the run dies (%s)',
    async (thread) => {
      const { agent, answer, receiver, values, run, isSettled } = await refusedWebhook(
        `killed, ${thread}`,
        thread,
      );
      await agent.kill();
      const before = receiver.requests.length;
      answer.status = 200;
      await agents.start(`killed, ${thread}`, env);
      await isSettled();
      expect(receiver.requests).toHaveLength(before + 1);
      expect(receiver.requests.at(-1)?.body).toBe(receiver.requests[0]?.body);
      const { run_id } = await run();
      expect(JSON.parse(receiver.requests[0]?.body ?? '')).toMatchObject({
        run_id,
        status: 'success',
        values,
      });
    },
  );

  it('is sent again later, and a last time an hour after the end of its run', async () => {
    const { run, isSettled } = await refusedWebhook('refused', 'thread');
    const first = await run();
    expect(first.webhook_due - first.updated_at).toBe(60_000);
    const passes = (age: string) =>
      agents.query(
        `update slipway_agent.runs set updated_at = now() - $1::interval, webhook_due = now()
         where deployment_id = 'refused' returning updated_at, webhook_due`,
        [age],
      );
    const [at] = await passes('8 minutes');
    const next = await until(
      async () => {
        const { webhook_due: due } = await run();
        return due > at.webhook_due && due;
      },
      'the webhook is due again',
      PATIENCE_MS,
    );
    const waited = (next - at.updated_at) / 60_000;
    expect(waited).toBeGreaterThanOrEqual(16);
    expect(waited).toBeLessThan(18);
    await passes('1 hour');
    await isSettled();
  });
});
