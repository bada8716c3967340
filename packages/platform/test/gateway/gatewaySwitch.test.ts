import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { until } from '../runtime/liveness.ts';
import { useGateway } from './standIns.ts';

const { gateway, agent, named, serveWith, at } = useGateway();

describe('a switch', () => {
  it('fails no request under load, and a drained agent answers none', async () => {
    const drained = new Set<string>();
    const late: string[] = [];
    const makeAgent = async (name: string) => {
      const one = await agent((request, response) => {
        void (async () => {
          for await (const _ of request);
          await sleep(Math.random() * 8);
          if (drained.has(name)) late.push(name);
          response.end(name);
        })();
      });
      return one;
    };
    let over = false;
    let answered = 0;
    const failures: string[] = [];
    const client = async (method: 'GET' | 'POST') => {
      while (!over) {
        const answer = await fetch(
          at('/work'),
          method === 'POST' ? { method, body: 'x'.repeat(20_000) } : {},
        ).catch((error: unknown) => String(error));
        if (typeof answer === 'string') failures.push(answer);
        else if (!answer.ok) failures.push(`${String(answer.status)} ${await answer.text()}`);
        else {
          const name = await answer.text();
          if (answer.headers.get('x-slipway-revision-id') !== name) failures.push(`mixed up: ${name}`);
          answered += 1;
        }
      }
    };
    let current = await makeAgent('r0');
    await serveWith(current, 'r0');
    const clients = Array.from({ length: 16 }, (_, i) => client(i % 2 === 0 ? 'GET' : 'POST'));
    for (let i = 1; i <= 20; i += 1) {
      const next = await makeAgent(`r${String(i)}`);
      const before = answered;
      await gateway().switchTo('d1', { url: next.url, revisionId: `r${String(i)}` });
      drained.add(`r${String(i - 1)}`);
      await current.kill();
      current = next;
      await until('requests on the new agent', () => answered > before + 20);
    }
    over = true;
    await Promise.all(clients);
    expect(failures).toEqual([]);
    expect(late).toEqual([]);
    expect(answered).toBeGreaterThan(400);
  });

  it('leaves an open stream on the old agent, where it ends normally', async () => {
    let stream: ServerResponse | undefined;
    const old = await agent((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n');
      stream = response;
    });
    await serveWith(old, 'r1');
    const answer = await fetch(at('/stream'));
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toBe('data: 1\n\n');

    let idle = false;
    const switched = serveWith(await named('new'), 'r2').then(() => (idle = true));
    expect(await (await fetch(at('/ok'))).text()).toBe('new');
    stream!.write('data: 2\n\n');
    expect((await reader.read()).value).toBe('data: 2\n\n');
    expect(idle).toBe(false);
    stream!.end('data: 3\n\n');
    expect((await reader.read()).value).toBe('data: 3\n\n');
    expect((await reader.read()).done).toBe(true);
    await switched;
    expect(answer.headers.get('x-slipway-revision-id')).toBe('r1');
  });

  it('resolves immediately if the earlier agent was idle', async () => {
    const first = await named('first');
    await serveWith(first, 'r1');
    await (await fetch(at('/'))).text();
    await serveWith(await named('second'), 'r2');
    expect(await (await fetch(at('/'))).text()).toBe('second');
  });
});
