import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';

import { describe, expect, it } from 'vitest';

import { collectEvents, echo, FIXTURE_AGENT, gate, odd, steps, until } from './agentUnderTest.ts';
import { useAgentProcesses } from './durableAgents.ts';
import { listen } from '../../../../test/support/listen.ts';

/** How much a graph streams, in mebibytes. For a real gigabyte: `SLIPWAY_STREAMED_MIB=1024`. */
const STREAMED_MIB = Number(process.env['SLIPWAY_STREAMED_MIB'] || 320);

const agents = useAgentProcesses(FIXTURE_AGENT);

describe.concurrent('an agent server with limits', { timeout: 600_000 }, () => {
  it('limits running and queued runs, and rejects the next with 429', async () => {
    const { api } = await agents.start('crowded', {
      SLIPWAY_AGENT_CONCURRENT_RUNS: '1',
      SLIPWAY_AGENT_PENDING_RUNS: '2',
    });
    const hold = gate();
    const thread = await api.thread();
    const first = await api.create(thread, steps(hold.path));
    await api.untilStatus(thread, first.run_id, 'running');
    const batch = await api.send('POST', '/runs/batch', [echo(), echo(), echo()]);
    expect(batch.status).toBe(429);
    const waiting = await Promise.all([1, 2].map(() => api.json('POST', '/runs', echo())));
    const refused = await api.send('POST', '/runs/wait', echo());
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await refused.json()).toEqual({ detail: expect.stringContaining('2 runs are pending') });
    // A refused run leaves no thread behind.
    const count = await api.json('POST', '/threads/count', {});
    const own = { ...echo(), on_completion: 'keep', if_not_exists: 'create' };
    for (const path of ['/runs', `/threads/${crypto.randomUUID()}/runs`])
      expect((await api.send('POST', path, own)).status).toBe(429);
    expect(await api.json('POST', '/threads/count', {})).toBe(count);
    const [one, two] = waiting as { thread_id: string; run_id: string }[];
    expect(await api.run(one!.thread_id, one!.run_id)).toMatchObject({ status: 'pending' });
    // A queued run can be canceled, which frees its place.
    const path = `/threads/${two!.thread_id}/runs/${two!.run_id}`;
    expect((await api.send('POST', `${path}/cancel?wait=true`)).status).toBe(204);
    expect((await api.send('POST', '/runs', echo())).status).toBe(200);
    await hold.open();
    expect(await api.join(one!.thread_id, one!.run_id)).toMatchObject({ text: 'echo: x' });
    expect(await api.json('GET', path)).toMatchObject({ status: 'interrupted', attempt: 0 });
  });

  it('signs webhooks and sends them only to allowed addresses; survives process.exit; bounds what it keeps of streams', async () => {
    const told: { body: string; signature: string }[] = [];
    const hook = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => (body += text));
      request.on('end', () => {
        told.push({ body, signature: String(request.headers['x-slipway-signature']) });
        response.end();
      });
    });
    const hookUrl = await listen(hook);
    const { api, ...agent } = await agents.start('signing', {
      SLIPWAY_AGENT_WEBHOOK_ALLOW: '127.0.0.1',
      SLIPWAY_AGENT_WEBHOOK_SECRET: 'whisper in the dark',
    });
    const inside = await api.send('POST', '/runs', { ...echo(), webhook: 'http://169.254.169.254/' });
    expect(inside.status).toBe(422);
    expect(await inside.json()).toMatchObject({ detail: [{ loc: ['body', 'webhook'] }] });
    await api.wait(undefined, { ...echo(), webhook: `${hookUrl}/` });
    const [{ body, signature }] = await until(
      () => Promise.resolve(told.length > 0 && (told as [(typeof told)[number]])),
      'the webhook was told',
    );
    const at = /t=(\d+)/.exec(signature)?.[1] ?? '';
    const mac = createHmac('sha256', 'whisper in the dark').update(`${at}.${body}`).digest('hex');
    expect(signature).toBe(`t=${at},v1=${mac}`);
    const run = JSON.parse(body) as { thread_id: string; run_id: string };
    const { updated_at: endedAt } = await api.run(run.thread_id, run.run_id);
    expect(run).toMatchObject({ status: 'success', values: { text: 'echo: x' }, updated_at: endedAt });
    expect(agent.stderr() + agent.stdout()).not.toContain('whisper');
    hook.close();

    const ended = await api.wait(undefined, odd('exit'));
    expect(ended).toMatchObject({ __error__: { error: 'ProcessExitRefused' } });

    const before = await memoryMiB(agent.child.pid, 'VmRSS');
    const response = await api.send('POST', '/runs/stream', {
      assistant_id: 'odd',
      input: { text: 'torrent', many: STREAMED_MIB },
      stream_mode: 'custom',
    });
    const location = response.headers.get('content-location') ?? '';
    const joined = api.json('GET', `${location}/join`);
    // Other runs continue meanwhile.
    expect(await api.wait(undefined, echo())).toMatchObject({ text: 'echo: x' });
    expect(await joined).toMatchObject({ made: 'streamed' });
    const grown = (await memoryMiB(agent.child.pid, 'VmHWM')) - before;
    if (STREAMED_MIB !== 320)
      process.stdout.write(`streamed ${STREAMED_MIB} MiB: ${grown.toFixed(0)} MiB more at most\n`);
    expect(grown).toBeLessThan(200);
    const events = await collectEvents(response);
    expect(events.at(-1)).toMatchObject({ event: 'error', data: { error: 'SlowReader' } });
    expect(agent.child.exitCode).toBeNull();
  });

  it('stops a run at its own time limit, and restarts itself if a graph blocks it', async () => {
    const { api, ...agent } = await agents.start('hurried', {
      SLIPWAY_AGENT_RUN_SECONDS: '0.2',
      SLIPWAY_AGENT_STALL_SECONDS: '1',
    });
    const thread = await api.thread();
    const ended = await api.wait(thread, { ...odd('hang'), timeout: 600 });
    expect(ended).toMatchObject({ __error__: { error: 'RunTimeout' } });
    expect(await api.runs(thread)).toMatchObject([{ status: 'timeout' }]);

    // The platform would restart it.
    void api.send('POST', '/runs/wait', odd('block')).catch(() => undefined);
    expect(await agent.exited).toEqual({ code: null, signal: 'SIGKILL' });
    expect(agent.stderr()).toContain('the event loop stood still for 1 s');
  });
});

/** The memory of a process, in mebibytes: now (`VmRSS`), or at its peak (`VmHWM`). */
async function memoryMiB(pid: number | undefined, what: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid ?? ''}/status`, 'utf8');
  return Number(new RegExp(`${what}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
}
