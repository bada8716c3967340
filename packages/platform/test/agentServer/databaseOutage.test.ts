import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type DatabaseProxy, startDatabaseProxy } from '../databaseProxy.ts';
import { until } from './agentUnderTest.ts';
import { PATIENCE_MS, DURABLE_AGENT, useAgentProcesses } from './durableAgents.ts';

const agents = useAgentProcesses(DURABLE_AGENT);

let way: DatabaseProxy;
beforeAll(async () => {
  way = await startDatabaseProxy(agents.databaseUrl());
});
afterAll(() => way.close());

describe('during a database outage', { timeout: 240_000 }, () => {
  it('an agent that starts waits for its database, and later says within seconds that it does not answer', async () => {
    const connecting = way.hold('before', 'user');
    const starting = agents.start('late', { SLIPWAY_AGENT_DATABASE_URL: way.url });
    await connecting;
    way.cut();
    way.repair();
    const { api } = await starting;
    expect(await api.json('GET', '/ok')).toEqual({ ok: true });

    const asking = way.hold('before', 'select 1');
    const signal = AbortSignal.timeout(30_000);
    const answer = await api.send('GET', '/info', undefined, { signal });
    await asking;
    expect(await answer.json()).toMatchObject({ serving: false });
    way.cut();
    way.repair();
  });

  it('a batch of runs is stored whole, or not at all', async () => {
    const { api } = await agents.start('batch', { SLIPWAY_AGENT_DATABASE_URL: way.url });
    const scene = agents.scene();
    const run = { assistant_id: 'work', input: scene.input('x') };
    const storing = way.hold('before', 'the last run');
    const answer = api.send('POST', '/runs/batch', [run, run, { ...run, metadata: { is: 'the last run' } }]);
    await storing;
    way.cut();
    way.repair();
    expect((await answer).status).toBe(503);
    expect((await api.send('POST', '/runs/cancel', { status: 'all' })).status).toBe(404);
  });

  it('a run without a thread that is rolled back leaves nothing, even if its process then dies', async () => {
    const agent = await agents.start('nothing', { SLIPWAY_AGENT_DATABASE_URL: way.url });
    const scene = agents.scene();
    const run = await agent.api.json('POST', '/runs', { assistant_id: 'work', input: scene.input('x') });
    await scene.untilNoted('slow-begun', 1);
    const tidyingUp = way.hold('before', 'checkpoint_writes WHERE thread_id = ANY');
    await agent.api.send('POST', `/threads/${run.thread_id}/runs/${run.run_id}/cancel?action=rollback`);
    await tidyingUp;
    void agent.kill();
    const left = await agents.query(
      `select 1 from slipway_checkpoints.checkpoints where starts_with(thread_id, 'nothing/')`,
    );
    expect(left).toEqual([]);
  });

  it('a run without a thread leaves nothing once its record is deleted, even if its process died', async () => {
    const agent = await agents.start('deleted', { SLIPWAY_AGENT_DATABASE_URL: way.url });
    const tidyingUp = way.hold('before', 'checkpoint_writes WHERE thread_id = ANY');
    const body = { assistant_id: 'chain', input: agents.scene().input('x') };
    const run = await agent.api.json('POST', '/runs', body);
    await tidyingUp;
    void agent.kill();
    const { api } = await agents.start('deleted');
    await api.json('DELETE', `/threads/${run.thread_id}/runs/${run.run_id}`);
    const left = await agents.query(
      `select 1 from slipway_checkpoints.checkpoints where starts_with(thread_id, 'deleted/')`,
    );
    expect(left).toEqual([]);
  });

  it('a state that is written by hand is stored with its thread’s record, or not at all', async () => {
    const agent = await agents.start('writing', { SLIPWAY_AGENT_DATABASE_URL: way.url });
    const body = { assistant_id: 'chain', input: agents.scene().input('x') };
    const thread = await agent.api.thread();
    await agent.api.wait(thread, body);
    const storing = way.hold('before', 'SET "values" = ');
    const update = { values: { log: ['by hand'] }, as_node: '5' };
    const cutOff = agent.api.send('POST', `/threads/${thread}/state`, update).catch(() => undefined);
    await storing;
    void agent.kill();
    await cutOff;
    const { api } = await agents.start('writing');
    const { values } = await api.state(thread);
    expect((await api.threadOf(thread)).values).toEqual(values);
  });

  it('a thread is created with all of its first states, or not at all', async () => {
    const agent = await agents.start('creating', { SLIPWAY_AGENT_DATABASE_URL: way.url });
    const thread_id = crypto.randomUUID();
    const names = ['one', 'two', 'the last state'];
    const body = {
      thread_id,
      metadata: { graph_id: 'chain' },
      supersteps: names.map((name) => ({ updates: [{ values: { log: [name] }, as_node: '1' }] })),
    };
    // Its values are bytes, in hexadecimal digits.
    const storing = way.hold('before', Buffer.from('the last state').toString('hex'));
    const cutOff = agent.api.send('POST', '/threads', body).catch(() => undefined);
    await storing;
    void agent.kill();
    await cutOff;
    const { api } = await agents.start('creating');
    expect((await api.send('GET', `/threads/${thread_id}`)).status).toBe(404);
    const created = await api.json('POST', '/threads', body);
    expect(created.values.log).toEqual(names);
    const history = await api.json('GET', `/threads/${thread_id}/history`);
    expect(history).toHaveLength(names.length);
  });

  it('a rollback whose end is unknown is repeated, and leaves what waited before the run', async () => {
    const { api } = await agents.start('rollback', { SLIPWAY_AGENT_DATABASE_URL: way.url });
    const scene = agents.scene();
    const path = `/threads/${await api.thread()}`;
    const run = { assistant_id: 'questions', input: scene.input('x') };
    await api.json('POST', `${path}/runs/wait`, run);
    const before = await api.json('GET', `${path}/state`);
    expect(before.interrupts).toMatchObject([{ value: 'one?' }]);
    const answer = { assistant_id: 'questions', command: { resume: 'yes' } };
    const { run_id: runId } = await api.json('POST', `${path}/runs`, answer);
    await scene.untilNoted('answer-yes', 1);
    const rolledBack = way.hold('after its commit', 'coalesce(r.config_before');
    await api.send('POST', `${path}/runs/${runId}/cancel?action=rollback`);
    await rolledBack;
    way.cut();
    way.repair();
    await until(
      async () => {
        const response = await api.send('GET', `${path}/runs/${runId}`).catch(() => undefined);
        return response?.status === 404;
      },
      'the run is rolled back',
      PATIENCE_MS,
    );
    expect(await api.json('GET', `${path}/state`)).toEqual(before);
  });

  it('runs wait within the lease, are taken over after a longer outage, and none is lost', async () => {
    const agent = await agents.start('outage', {
      SLIPWAY_AGENT_DATABASE_URL: way.url,
      SLIPWAY_AGENT_LEASE_MS: '5000',
    });
    const short = await agents.runningIn(agent);
    way.cut();
    await short.scene.open();
    await short.scene.untilNoted('slow-ended', 1);
    way.repair();
    const done = await until(
      async () => {
        const response = await agent.api.send('GET', `${short.run}/join`).catch(() => undefined);
        return response?.ok === true && ((await response.json()) as { log?: string[] });
      },
      'the run has ended',
      PATIENCE_MS,
    );
    expect(done.log).toEqual(['first', 'quick', 'slow', 'last']);
    expect(await agent.api.json('GET', short.run)).toMatchObject({ status: 'success', attempt: 1 });
    for (const what of ['first', 'quick', 'slow-begun', 'last']) expect(short.scene.count(what)).toBe(1);

    const long = await agents.runningIn(agent);
    way.cut();
    await until(
      () => Promise.resolve(agent.stderr().includes('this process lost a run')),
      'the process has stopped its runs by itself',
      PATIENCE_MS,
    );
    way.repair();
    await long.scene.untilNoted('slow-begun', 2);
    await long.scene.open();
    expect((await agent.api.json('GET', `${long.run}/join`)).log).toEqual(['first', 'quick', 'slow', 'last']);
    expect(await agent.api.json('GET', long.run)).toMatchObject({ status: 'success', attempt: 2 });
    expect(long.scene.count('first')).toBe(1);
  });
});
