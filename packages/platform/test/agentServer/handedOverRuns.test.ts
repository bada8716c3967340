import { describe, expect, it } from 'vitest';

import { Gateway } from '../../src/gateway/gateway.ts';
import { serveGateway } from '../gateway/standIns.ts';
import { apiOf, collectEvents, type ReadEvent, readEvents, until } from './agentUnderTest.ts';
import { type AgentProcess, PATIENCE_MS, DURABLE_AGENT, useAgentProcesses } from './durableAgents.ts';

const agents = useAgentProcesses(DURABLE_AGENT);

/** Short enough to wait for, but long enough for a busy machine to renew it. */
const LEASE = { SLIPWAY_AGENT_LEASE_MS: '4000' };

describe.concurrent('a run', { timeout: 240_000 }, () => {
  it('is handed over at SIGTERM with the runs queued behind it, without losing an attempt', async () => {
    const [one, two] = await Promise.all([
      agents.start('drained', { SLIPWAY_AGENT_DRAIN_MS: '50', SLIPWAY_AGENT_MAX_ATTEMPTS: '1' }),
      agents.start('drained', { SLIPWAY_AGENT_MAX_ATTEMPTS: '1' }),
    ]);
    const { scene, path, id, run } = await agents.runningIn(one);
    const queued = await one.api.json('POST', path, {
      assistant_id: 'chain',
      input: scene.input('queued'),
      multitask_strategy: 'enqueue',
    });
    const followed = await one.api.send('GET', `${run}/stream`);
    const joined = await one.api.send('GET', `${run}/join`);
    one.child.kill('SIGTERM');
    // Both break off, instead of a false end or a false answer.
    await expect(collectEvents(followed)).rejects.toThrow();
    await expect(joined.text()).rejects.toThrow();
    expect(await one.exited).toEqual({ code: 0, signal: null });
    expect(one.stderr().replaceAll(/^\{.*\}\n/gmu, '')).toBe('');
    await scene.untilNoted('slow-begun', 2);
    expect(await two.api.json('GET', run)).toMatchObject({ status: 'running', attempt: 2 });
    const lost = await agents.query('select lost_attempts from slipway_agent.runs where run_id = $1', [id]);
    expect(lost).toEqual([{ lost_attempts: 0 }]);
    await scene.open();
    expect((await two.api.json('GET', `${run}/join`)).log).toEqual(['first', 'quick', 'slow', 'last']);
    const after = await two.api.json('GET', `${path}/${queued.run_id}/join`);
    expect(after.log).toHaveLength(9);
    expect(scene.count('first')).toBe(1);
    expect(scene.count('quick')).toBe(1);
    expect(scene.lines().filter(({ name, pid }) => name === 'queued' && pid === one.pid)).toEqual([]);
  });

  it('of a frozen process belongs to another when it wakes: it writes nothing more, and reports how the run ended', async () => {
    const [one, two] = await Promise.all([agents.start('frozen', LEASE), agents.start('frozen', LEASE)]);
    const { scene, thread, run } = await agents.runningIn(one);
    const followed = await one.api.send('GET', `${run}/stream`);
    const joined = one.api.json('GET', `${run}/join`);
    one.child.kill('SIGSTOP');
    await until(
      async () => (await two.api.json('GET', run)).attempt === 2,
      'the run is taken up',
      PATIENCE_MS,
    );
    await scene.open();
    const output = await two.api.json('GET', `${run}/join`);
    expect(output.log).toEqual(['first', 'quick', 'slow', 'last']);
    const history = await two.api.json('GET', `/threads/${thread}/history?limit=100`);
    one.child.kill('SIGCONT');
    expect(await joined).toEqual(output);
    await expect(collectEvents(followed)).rejects.toThrow();
    expect(await one.api.wait(undefined, { assistant_id: 'chain', input: scene.input('y') })).toMatchObject({
      log: ['1', '2', '3', '4', '5'],
    });
    expect(await two.api.json('GET', `/threads/${thread}/history?limit=100`)).toEqual(history);
    expect(await two.api.json('GET', run)).toMatchObject({ status: 'success', attempt: 2 });
    expect(scene.count('first')).toBe(1);
    expect(scene.count('last')).toBe(1);
  });

  it('of a dead or frozen process can be cancelled by another', async () => {
    const [one, two, three] = await Promise.all([
      agents.start('cancelled', LEASE),
      agents.start('cancelled', LEASE),
      agents.start('cancelled', LEASE),
    ]);
    const [kept, taken, frozen] = [
      await agents.runningIn(one),
      await agents.runningIn(one),
      await agents.runningIn(three),
    ];
    const next = await two.api.create(frozen.thread, {
      assistant_id: 'chain',
      input: frozen.scene.input('next'),
      multitask_strategy: 'rollback',
    });
    const { log } = await two.api.join(frozen.thread, next.run_id);
    expect(log).toEqual(['1', '2', '3', '4', '5']);
    expect((await two.api.send('GET', frozen.run)).status).toBe(404);
    void one.kill();
    three.child.kill('SIGSTOP');
    const answers = await Promise.all([
      two.api.send('POST', `${kept.run}/cancel?wait=true`),
      two.api.send('POST', `${taken.run}/cancel?wait=true&action=rollback`),
      two.api.send('POST', `${kept.run}/cancel?wait=true`),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 204]);
    expect(await two.api.json('GET', kept.run)).toMatchObject({ status: 'interrupted', attempt: 1 });
    expect(await two.api.state(kept.thread)).toMatchObject({
      values: { log: ['first', 'quick'] },
      next: ['slow'],
    });
    expect((await two.api.send('GET', taken.run)).status).toBe(404);
    expect(await two.api.threadOf(taken.thread)).toMatchObject({ status: 'idle', values: null });
    for (const { scene } of [kept, taken]) expect(scene.count('slow-begun')).toBe(1);
  });

  it('that is resumable can be followed from another process after the last event that was seen, at one address', async ({
    onTestFinished,
  }) => {
    const [one, two] = await Promise.all([agents.start('followed'), agents.start('followed')]);
    const gateway = new Gateway({ agentKeyOf: () => 'a key' });
    const front = await serveGateway(gateway);
    onTestFinished(() => front.kill());
    const through = apiOf(`${front.url}/agents/d1`);
    const serve = ({ url, exited }: AgentProcess, revisionId: string) =>
      gateway.switchTo('d1', { url, revisionId, exited });
    void serve(one, 'one');
    const scene = agents.scene();
    const thread = await through.thread();
    const response = await through.send('POST', `/threads/${thread}/runs/stream`, {
      assistant_id: 'work',
      input: scene.input('x'),
      stream_mode: ['updates'],
      stream_resumable: true,
    });
    const path = `${response.headers.get('content-location')}/stream`;
    const follow = (lastEventId: string) =>
      through.send('GET', path, undefined, { headers: { 'last-event-id': lastEventId } }).then(collectEvents);
    const seen: ReadEvent[] = [];
    const reading = (async () => {
      for await (const event of readEvents(response)) seen.push(event);
    })();
    await until(() => Promise.resolve(seen.length >= 3), 'first and quick are seen', PATIENCE_MS);
    // Until something happens to the run, the other process reports the same.
    const beside = two.api.send('GET', path, undefined, { headers: { 'last-event-id': '0' } });
    void one.kill();
    // The stream breaks off, instead of a false end. A client that resumes after its last event misses nothing.
    await expect(reading).rejects.toThrow();
    void serve(two, 'two');
    await scene.untilNoted('slow-begun', 2);
    await scene.open();
    const rest = await follow(seen.at(-1)?.id ?? '');
    const whole = await follow('0');
    const told = (events: ReadEvent[]) =>
      events.map(({ event, data, id }) => [id, event, ...Object.keys(data as object)]);
    expect(told(whole)).toEqual([
      [undefined, 'metadata', 'run_id', 'attempt'],
      ['1', 'updates', 'first'],
      ['2', 'updates', 'quick'],
      ['3', 'metadata', 'run_id', 'attempt'],
      // LangGraph reports the writes of a node that is not run again.
      ['4', 'updates', 'quick', '__metadata__'],
      ['5', 'updates', 'slow'],
      ['6', 'updates', 'last'],
    ]);
    expect(rest.slice(1)).toEqual(whole.slice(3));
    expect(whole[3]?.data).toMatchObject({ attempt: 2 });
    expect((await collectEvents(await beside)).slice(1)).toEqual(whole.slice(1));
  });
});
