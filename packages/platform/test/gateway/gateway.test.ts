import { once } from 'node:events';
import { Agent, type ClientRequest, type IncomingMessage, request as ask } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { until } from '../runtime/liveness.ts';
import { useGateway } from './standIns.ts';
import { sendAll } from '../http/sendAll.ts';

const { gateway, front, agent, named, serveAgent, serveWith, at } = useGateway();

async function responseTo(sent: ClientRequest): Promise<IncomingMessage> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

describe('a request through the gateway', () => {
  it('reaches the agent with method, path, query, headers and body, and returns its response', async () => {
    const seen: { request?: IncomingMessage; body?: string } = {};
    const one = await serveAgent((request, response) => {
      void (async () => {
        let body = '';
        for await (const chunk of request) body += String(chunk);
        Object.assign(seen, { request, body });
        response.writeHead(
          418,
          'Teapot',
          [
            ['set-cookie', 'a=1'],
            ['set-cookie', 'b=2'],
            ['content-location', '/threads/t/runs/r'],
          ].flat(),
        );
        response.end('short and stout');
      })();
    });
    const answer = await fetch(at('/threads/t/runs?limit=2'), {
      method: 'PATCH',
      body: '{"a":1}',
      headers: { 'content-type': 'application/json', te: 'trailers' },
    });
    expect(answer.status).toBe(418);
    expect(answer.statusText).toBe('Teapot');
    expect(await answer.text()).toBe('short and stout');
    expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    expect(answer.headers.get('content-location')).toBe('/threads/t/runs/r');
    expect(answer.headers.get('x-slipway-revision-id')).toBe('r1');
    expect(seen.body).toBe('{"a":1}');
    expect(seen.request).toMatchObject({ method: 'PATCH', url: '/threads/t/runs?limit=2' });
    expect(seen.request!.headers).toMatchObject({
      host: new URL(one.url).host,
      'content-length': '7',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': new URL(front().url).host,
      'x-forwarded-proto': 'http',
      'x-forwarded-prefix': '/agents/d1',
    });
    expect(seen.request!.headers).not.toHaveProperty('te');
  });

  it('loses hop-by-hop headers, and keeps the headers of earlier proxies', async () => {
    let headers: IncomingMessage['headers'] = {};
    await serveAgent((request, response) => {
      headers = request.headers;
      response.writeHead(200, { connection: 'x-private, close', 'x-private': 'agent', 'x-public': 'yes' });
      response.end();
    });
    const sent = ask(at('/'), {
      headers: {
        connection: 'x-hop',
        'x-hop': '1',
        'x-forwarded-for': '203.0.113.9',
        'x-forwarded-proto': 'https',
        'x-forwarded-host': 'agents.example',
      },
    }).end();
    const answer = await responseTo(sent);
    answer.resume();
    expect(headers).not.toHaveProperty('x-hop');
    expect(headers).toMatchObject({
      'x-forwarded-for': '203.0.113.9, 127.0.0.1',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'agents.example',
    });
    expect(answer.headers).not.toHaveProperty('x-private');
    expect(answer.headers['x-public']).toBe('yes');
  });

  it('is streamed both ways: the response begins before the body has ended', async () => {
    await serveAgent((request, response) => {
      request.on('data', (chunk: Buffer) => response.write(`got ${chunk.toString()}`));
      request.on('end', () => response.end('the end'));
    });
    const sent = ask(at('/echo'), { method: 'POST' });
    sent.write('one');
    const answer = await responseTo(sent);
    answer.setEncoding('utf8');
    expect(await once(answer, 'data')).toEqual(['got one']);
    sent.write('two');
    expect(await once(answer, 'data')).toEqual(['got two']);
    sent.end();
    expect(await once(answer, 'data')).toEqual(['the end']);
  });

  it('uses bounded memory, even for a slow client', async () => {
    let written = 0;
    await serveAgent((_request, response) => {
      const chunk = Buffer.alloc(1024 * 1024);
      const fill = () => {
        for (;;) {
          if (written === 256) return void response.end();
          written += 1;
          if (!response.write(chunk)) return void response.once('drain', fill);
        }
      };
      fill();
    });
    const sent = ask(at('/large')).end();
    const answer = await responseTo(sent);
    // Nothing is read, so the agent stops once every buffer on the way is full.
    let before = -1;
    while (before !== written) {
      before = written;
      await sleep(100);
    }
    expect(written).toBeLessThan(64);
    let read = 0;
    for await (const chunk of answer) read += (chunk as Buffer).length;
    expect(read).toBe(256 * 1024 * 1024);
  });

  it('is aborted at the agent when the client disconnects', async () => {
    let left = false;
    await serveAgent((_request, response) => {
      response.on('close', () => (left = true));
      response.write('data: 1\n\n');
    });
    const controller = new AbortController();
    const answer = await fetch(at('/stream'), { signal: controller.signal });
    expect(answer.status).toBe(200);
    controller.abort();
    await until('the agent to see that the client left', () => left);
  });

  it('is aborted at the agent when the client disconnects in the middle of its body', async () => {
    let seen: IncomingMessage | undefined;
    await serveAgent((request) => {
      seen = request;
      request.on('error', () => undefined).resume();
    });
    const sent = ask(at('/upload'), { method: 'POST' });
    sent.on('error', () => undefined);
    sent.write('the beginning');
    await until('the agent to get the beginning', () => seen !== undefined);
    sent.destroy();
    await until('the agent to see that the client left', () => seen!.destroyed);
    expect(seen!.complete).toBe(false);
  });

  it('is answered if the agent rejects it before it reads the body', async () => {
    await serveAgent((_request, response) => {
      response.writeHead(413, { connection: 'close' }).end('too large');
    });
    const sent = ask(at('/upload'), { method: 'POST', headers: { 'content-length': String(50_000_000) } });
    sent.on('error', () => undefined);
    sent.write(Buffer.alloc(100_000));
    const answer = await responseTo(sent);
    expect(answer.statusCode).toBe(413);
    expect(String(await answer.toArray())).toBe('too large');
    sent.destroy();
  });

  it('leaves its connection usable if the agent answers before it has read the body', async () => {
    await serveAgent((request, response) => {
      request.once('data', () => response.writeHead(413).end('too large'));
    });
    const connections = new Agent({ keepAlive: true, maxSockets: 1 });
    for (const attempt of ['first', 'second']) {
      const sent = ask(at(`/${attempt}`), { method: 'POST', agent: connections });
      sent.end(Buffer.alloc(20_000_000));
      const answer = await responseTo(sent);
      expect(String(await answer.toArray())).toBe('too large');
      if (!sent.writableFinished) await once(sent, 'finish');
    }
    connections.destroy();
  });

  it('may be a HEAD request', async () => {
    await serveAgent((request, response) => {
      response.writeHead(200, { 'content-length': '12345' }).end();
      expect(request.method).toBe('HEAD');
    });
    const answer = await fetch(at('/'), { method: 'HEAD' });
    expect(answer.headers.get('content-length')).toBe('12345');
    expect(await answer.text()).toBe('');
  });

  it('ends with an error if the agent disconnects in the middle of its response', async () => {
    await serveAgent((_request, response) => {
      response.write('half an ans');
      setImmediate(() => response.destroy());
    });
    const answer = await fetch(at('/'));
    await expect(answer.text()).rejects.toThrow();
  });
});

describe('the gateway’s own response', () => {
  it('is 404 for an unknown or removed deployment', async () => {
    const answer = await fetch(at('/ok'));
    expect(answer.status).toBe(404);
    expect(await answer.json()).toEqual({ detail: 'Deployment ID d1 not found.' });
    await serveWith(await named('one'));
    expect((await fetch(at('/ok'))).status).toBe(200);
    await gateway().remove('d1');
    expect((await fetch(at('/ok'))).status).toBe(404);
  });

  it('is 503 immediately for a deployment without an active revision', async () => {
    gateway().register('d1', { starting: false });
    const answer = await fetch(at('/ok'));
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('2');
    expect(await answer.json()).toEqual({ detail: 'Deployment ID d1 has no active revision.' });
  });

  it('is 503 also for a client that sends all of its body first', async () => {
    gateway().register('d1', { starting: false });
    expect((await sendAll('POST', at('/'), { megabytes: 20 })).status).toBe(503);
  });

  it('is readable for a page of another origin, whose preflight is allowed', async () => {
    gateway().register('d1', { starting: false });
    const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-api-key' };
    const preflight = await fetch(at('/runs'), { method: 'OPTIONS', headers: asked });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
    expect(preflight.headers.get('access-control-allow-headers')).toBe('x-api-key');
    const answer = await fetch(at('/runs'), { method: 'POST' });
    expect(answer.status).toBe(503);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  });

  it('is 503 if a starting agent is not ready in time', async () => {
    gateway().register('d1', { starting: true });
    const answer = await fetch(at('/ok'));
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('2');
    expect(await answer.json()).toEqual({ detail: 'The agent of deployment ID d1 is not up yet.' });
  });

  it('is 502 if the agent cannot be reached', async () => {
    const one = await named('one');
    await one.kill();
    await serveWith(one);
    const answer = await fetch(at('/threads'), { method: 'POST', body: 'x' });
    expect(answer.status).toBe(502);
    expect(answer.headers.get('retry-after')).toBe('2');
    expect(await answer.json()).toEqual({ detail: 'The agent of deployment ID d1 cannot be reached.' });
  });

  it('is 502, without a retry, if the agent accepted a write and disconnected', async () => {
    let taken = 0;
    await serveAgent((request) => {
      taken += 1;
      request.socket.destroy();
    });
    const answer = await fetch(at('/runs'), { method: 'POST', body: '{}' });
    expect(answer.status).toBe(502);
    expect(await answer.json()).toEqual({
      detail: 'The agent of deployment ID d1 broke off before it answered; it may have taken the request.',
    });
    expect(taken).toBe(1);
  });
});

describe('a request while the agent is away', () => {
  it('waits for a starting agent', async () => {
    gateway().register('d1', { starting: true });
    const answer = fetch(at('/ok'));
    await until('the request to arrive', () => front().arrived() > 0);
    await serveWith(await named('one'));
    expect(await (await answer).text()).toBe('one');
  });

  it('waits with its body for the successor of a crashed agent', async () => {
    const first = await named('first');
    let crash!: () => void;
    const crashed = new Promise<void>((resolve) => (crash = resolve));
    await serveWith(first, 'r1', crashed);
    await first.kill();
    crash();
    const answer = fetch(at('/threads'), { method: 'POST', body: 'the whole body' });
    await until('the request to arrive', () => front().arrived() > 0);
    const second = await agent((request, response) => void request.pipe(response));
    await serveWith(second, 'r1');
    expect(await (await answer).text()).toBe('the whole body');
  });

  it('is forwarded with its body if the agent is gone but not yet detected', async () => {
    const first = await named('first');
    await serveWith(first);
    await first.kill();
    const answer = fetch(at('/threads'), { method: 'POST', body: 'the whole body' });
    await until('the request to arrive', () => front().arrived() > 0);
    const second = await agent((request, response) => void request.pipe(response));
    await serveWith(second, 'r2');
    expect(await (await answer).text()).toBe('the whole body');
    expect((await answer).headers.get('x-slipway-revision-id')).toBe('r2');
  });

  it('is retried once if it is a read without a response', async () => {
    let asked = 0;
    await serveAgent((request, response) => {
      asked += 1;
      if (asked === 1) request.socket.destroy();
      else response.end('at the second time');
    });
    expect(await (await fetch(at('/threads'))).text()).toBe('at the second time');
    asked = -10;
    const broken = await agent((request) => {
      asked += 1;
      request.socket.destroy();
    });
    await serveWith(broken);
    expect((await fetch(at('/threads'))).status).toBe(502);
    expect(asked).toBe(-8);
  });

  it('fails immediately if no successor will start', async () => {
    const first = await named('first');
    await serveWith(first, 'r1', Promise.resolve());
    const answer = fetch(at('/ok'));
    await until('the request to arrive', () => front().arrived() > 0);
    gateway().register('d1', { starting: false });
    expect((await answer).status).toBe(503);
  });
});
