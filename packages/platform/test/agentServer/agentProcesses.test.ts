import pg from 'pg';
import { describe, expect, it } from 'vitest';

import { openTestDatabase } from '../testDatabase.ts';
import { echo, FIXTURE_AGENT, gate, readEvents, steps, until } from './agentUnderTest.ts';
import { useAgentProcesses } from './durableAgents.ts';

const agents = useAgentProcesses(FIXTURE_AGENT, openTestDatabase);

/** Waits for so many heartbeats of the deployment's process. */
async function heartbeats(deployment: string, count: number) {
  const client = new pg.Client({ connectionString: agents.databaseUrl() });
  await client.connect();
  const latest = async () => {
    const query =
      'select max(heartbeat_at)::text as at from slipway_agent.processes where deployment_id = $1';
    return (await client.query<{ at: string }>(query, [deployment])).rows[0]?.at;
  };
  for (let seen = 0; seen < count; seen++) {
    const before = await latest();
    await until(async () => (await latest()) !== before, 'the process has said that it lives');
  }
  await client.end();
}

describe.concurrent('agent processes of one database', { timeout: 180_000 }, () => {
  it('share the threads of their deployment and cancel, join and follow each other’s runs', async () => {
    const [one, two, stranger] = await Promise.all([
      agents.start('shared'),
      agents.start('shared'),
      agents.start('other'),
    ]);
    const thread = await one.api.thread();
    const run = await one.api.create(thread, steps(60_000));
    await one.api.untilLogged(thread, 1);
    expect((await two.api.send('POST', `/threads/${thread}/runs`, echo())).status).toBe(409);
    const joined = two.api.join(thread, run.run_id);
    const queued = await two.api.create(thread, { ...echo(), multitask_strategy: 'enqueue' });
    expect(
      (await two.api.send('POST', `/threads/${thread}/runs/${run.run_id}/cancel?wait=true`)).status,
    ).toBe(204);
    expect((await one.api.run(thread, run.run_id)).status).toBe('interrupted');
    expect((await joined).log).toEqual(['first']);
    expect((await one.api.join(thread, queued.run_id)).text).toBe('echo: x');

    // The other process also follows a stream that is not resumable, as soon as it has been notified.
    const hold = gate();
    const thereafter = await two.api.send('GET', `/threads/${thread}/stream`);
    const followed = await one.api.create(thread, {
      ...steps(hold.path),
      stream_mode: ['custom', 'updates'],
    });
    const watching = new Set<Response>();
    /** The kinds of a stream's events. The run ends once both streams have seen an event of its second node. */
    const kindsIn = async (stream: Response): Promise<string[]> => {
      const kinds: string[] = [];
      for await (const { event, data } of readEvents(stream)) {
        if (event === 'custom' && watching.add(stream).size === 2) await hold.open();
        if (event !== kinds.at(-1)) kinds.push(event);
        if (data.status === 'run_done') break;
      }
      return kinds;
    };
    const stream = await two.api.send('GET', `/threads/${thread}/runs/${followed.run_id}/stream`);
    const [ofRun, ofThread] = await Promise.all([kindsIn(stream), kindsIn(thereafter)]);
    // The first node's events may have been written before anyone followed here.
    expect(ofRun[0]).toBe('metadata');
    expect(ofRun.slice(-2)).toEqual(['custom', 'updates']);
    expect(new Set(ofThread)).toEqual(new Set(['metadata', 'custom', 'updates']));

    await one.api.json('PUT', '/store/items', { namespace: ['of'], key: 'one', value: { seen: true } });
    const item = '/store/items?namespace=of&key=one';
    expect(await two.api.json('GET', item)).toMatchObject({ value: { seen: true } });
    expect(await stranger.api.json('GET', item)).toBeNull();

    expect((await stranger.api.send('GET', `/threads/${thread}`)).status).toBe(404);
    const twin = { thread_id: thread, if_exists: 'raise' };
    expect((await stranger.api.send('POST', '/threads', twin)).status).toBe(200);
    expect((await stranger.api.state(thread)).values).toEqual({});
    const bulk = await stranger.api.send('POST', '/runs/cancel', { status: 'all' });
    expect(bulk.status).toBe(404);
  });

  it('write to the state of one thread at the same time without replacing what the others wrote', async () => {
    const [{ api }, other] = await Promise.all([agents.start('writing'), agents.start('writing')]);
    const thread = await api.thread();
    await api.wait(thread, steps(0));
    const names = Array.from({ length: 8 }, (_, index) => `by hand ${index}`);
    const write = (name: string, index: number) =>
      (index % 2 === 0 ? api : other.api).json('POST', `/threads/${thread}/state`, {
        values: { log: [name] },
        as_node: 'second',
      });
    await Promise.all(names.map(write));
    const { log } = (await api.state(thread)).values as { log: string[] };
    expect(log.slice(2).sort()).toEqual(names);
    expect((await api.threadOf(thread)).values.log).toEqual(log);
  });

  it('finish running runs at SIGTERM, leave queued ones to the next process, and exit 0', async () => {
    const hold = gate();
    // A short lease is renewed often.
    const first = await agents.start('drained', {
      SLIPWAY_AGENT_DRAIN_MS: '120000',
      SLIPWAY_AGENT_LEASE_MS: '4000',
    });
    const thread = await first.api.thread();
    const running = await first.api.create(thread, steps(hold.path));
    const pending = await first.api.create(thread, { ...echo(), multitask_strategy: 'enqueue' });
    await first.api.untilLogged(thread, 1);
    const joined = first.api.join(thread, running.run_id);
    first.child.kill('SIGTERM');
    await until(
      async () => (await first.api.send('POST', '/runs/wait', echo())).status === 503,
      'new runs are turned away',
    );
    await heartbeats('drained', 2);
    for (const follow of ['join', 'stream']) {
      const path = `/threads/${thread}/runs/${pending.run_id}/${follow}`;
      const answered = await first.api.send('GET', path);
      expect(answered.status).toBe(503);
      expect(await answered.json()).toEqual({ detail: expect.stringContaining('ask again') });
    }
    await hold.open();
    expect(await joined).toMatchObject({ log: ['first', 'second'] });
    expect(await first.exited).toEqual({ code: 0, signal: null });
    const second = await agents.start('drained');
    const taken = await second.api.join(thread, pending.run_id);
    expect(taken).toMatchObject({ text: 'echo: x' });
  });
});
