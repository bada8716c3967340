import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { publicRunApi } from '@slipway/contract/endpoint';
import { RunCreate } from '@slipway/contract/runApi/run';
import { ThreadSearch } from '@slipway/contract/runApi/thread';

import { requireApiKey } from '../../src/agentServer/http/access.ts';
import { listen, listenerOf } from '../../src/http/listen.ts';
import { createLogger } from '../../src/http/logger.ts';
import { limitBody, parseBody, parseOptionalBody, parsePath, parseQuery } from '../../src/http/parse.ts';
import { HttpProblem, problemHandler, unservedHandler } from '../../src/http/problem.ts';
import { serveOn } from '../../src/http/serve.ts';
import { sendAll } from './sendAll.ts';

const Body = z.object({ name: z.string(), size: z.int().optional() });

function app() {
  const logged: string[] = [];
  const log = createLogger({ level: 'info', destination: { write: (line) => void logged.push(line) } });
  const hono = new Hono();
  hono.onError(problemHandler(log));
  hono.notFound(unservedHandler(hono));
  hono.use('/private/*', requireApiKey('right'));
  hono.get('/private/x', (c) => c.text('in'));
  hono.post('/body', limitBody(100), async (c) => c.json(await parseBody(Body, c)));
  hono.post('/unread', limitBody(), (c) => c.text('unread'));
  hono.post('/optional', async (c) => c.json(await parseOptionalBody(Body.partial(), c)));
  hono.get('/query', (c) => c.json(parseQuery(z.object({ limit: z.coerce.number().max(3) }), c)));
  hono.post('/things/search', (c) => c.text('found'));
  hono.get('/things/:id', (c) => c.json(parsePath(z.object({ id: z.uuid() }), c)));
  hono.get('/teapot', () => {
    throw new HttpProblem(409, 'Taken.', { headers: { 'retry-after': '3' } });
  });
  hono.get('/crash/:token', () => {
    throw Object.assign(new Error('inside'), { apiKey: 'sk-1' });
  });
  hono.get('/full', () => {
    throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
  });
  hono.get('/away', () => {
    throw new Error('timeout exceeded when trying to connect');
  });
  hono.get('/text', () => {
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- as an agent's code can
    throw 'inside';
  });
  return { app: hono, logged, log };
}

/** Listens as long as the test runs. Returns the address. */
async function serveApp({ app: hono, log } = app()): Promise<string> {
  const listening = await listen(listenerOf(hono, log), { port: 0 });
  onTestFinished(() => listening.close());
  return listening.url;
}

const post = (body: string): RequestInit => ({ method: 'POST', body });

describe('an error response', () => {
  it('has its status, its detail and its headers', async () => {
    const response = await app().app.request('/teapot');
    expect(response.status).toBe(409);
    expect(response.headers.get('retry-after')).toBe('3');
    expect(await response.json()).toEqual({ detail: 'Taken.' });
  });

  it('is a 500 without internals, and one log line without the requested path', async () => {
    const { app: hono, logged } = app();
    const response = await hono.request('/crash/signed-token');
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({ detail: 'Internal Server Error' });
    expect(logged).toHaveLength(1);
    expect(logged[0]).toContain('inside');
    expect(logged[0]).not.toContain('signed-token');
    expect(logged[0]).not.toContain('sk-1');
  });

  it('is a 503 with Retry-After if the database does not answer', async () => {
    const response = await app().app.request('/away');
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('1');
  });

  it('is a 507 if the disk is full', async () => {
    const response = await app().app.request('/full');
    expect(response.status).toBe(507);
  });

  it('is a JSON 404 for an unknown path', async () => {
    const response = await app().app.request('/nothing');
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({ detail: 'Not Found' });
  });

  it('is a 405 that names the methods of the path for another method', async () => {
    const put = await app().app.request('/things/1', { method: 'PUT' });
    expect(put.status).toBe(405);
    expect(put.headers.get('allow')).toBe('GET, HEAD');
    expect(await put.json()).toEqual({ detail: expect.stringContaining('PUT is not allowed') });
    for (const path of ['/body', '/things/search']) {
      const patch = await app().app.request(path, { method: 'PATCH' });
      expect(patch.headers.get('allow')).toBe('POST');
    }
    expect((await app().app.request('/body', { method: 'HEAD' })).headers.get('allow')).toBe('POST');
  });
});

describe('a GET that waits or changes something', () => {
  it('is not served for HEAD, and no 405 of its path says so', async () => {
    const hono = new Hono();
    hono.notFound(unservedHandler(hono));
    const inner = new Hono();
    const serve = serveOn(inner);
    const work = () => Promise.resolve({ ok: true });
    serve(publicRunApi.get('/stream', 'stream'), work);
    serve(publicRunApi.get('/logs', z.unknown(), { streams: true }), work);
    serve(publicRunApi.get('/link', z.unknown(), { isGetOnly: true }), work);
    serve(publicRunApi.post('/link', z.unknown()), work);
    serve(publicRunApi.get('/plain', z.unknown()), work);
    hono.route('/', inner);
    const allowed = async (path: string, method: string) => {
      const { status, headers } = await hono.request(path, { method });
      return [status, headers.get('allow')];
    };
    for (const method of ['HEAD', 'PUT']) {
      for (const path of ['/stream', '/logs']) expect(await allowed(path, method)).toEqual([405, 'GET']);
      expect(await allowed('/link', method)).toEqual([405, 'GET, POST']);
    }
    expect(await allowed('/plain', 'HEAD')).toEqual([200, null]);
    expect(await allowed('/plain', 'PUT')).toEqual([405, 'GET, HEAD']);
    for (const path of ['/logs', '/link']) expect((await hono.request(path)).status).toBe(200);
  });
});

describe('a request that does not match its schema', () => {
  it('gets a 422 with the place of each mistake in the body', async () => {
    const response = await app().app.request('/body', post('{"size": 1.5}'));
    expect(response.status).toBe(422);
    const { detail } = (await response.json()) as { detail: { loc: unknown[]; msg: string; type: string }[] };
    expect(detail.map((issue) => issue.loc)).toEqual([
      ['body', 'name'],
      ['body', 'size'],
    ]);
    for (const issue of detail) {
      expect(issue.msg).toEqual(expect.any(String));
      expect(issue.type).toEqual(expect.any(String));
    }
  });

  it('gets a 422 of limited size, whatever is wrong with it', async () => {
    const app = new Hono();
    app.onError(problemHandler(createLogger({ level: 'silent' })));
    app.post('/run', async (c) => c.json(await parseBody(RunCreate, c)));
    app.post('/search', async (c) => c.json(await parseBody(ThreadSearch, c)));
    const list = Array(100_000).fill(0);
    const record = Object.fromEntries(list.map((value, index) => [`name${index}`, value]));
    for (const [path, body] of [
      ['/run', { assistant_id: 'a', command: { update: list } }],
      [
        '/run',
        {
          assistant_id: 'a',
          command: { update: list.slice(0, 1_000) },
          config: { tags: list.slice(0, 1_000) },
        },
      ],
      ['/search', { extract: record }],
      ['/search', { select: list }],
    ] as const) {
      const response = await app.request(path, post(JSON.stringify(body)));
      expect(response.status).toBe(422);
      expect((await response.text()).length).toBeLessThan(20_000);
    }
  });

  it('gets a 422 for a body that is not JSON, without quoting it', async () => {
    const response = await app().app.request('/body', post('{"value": "s3cret'));
    expect(response.status).toBe(422);
    expect(await response.text()).not.toContain('s3cret');
  });

  it('gets a 422 for a body that is not UTF-8, instead of other text', async () => {
    const body = Buffer.from('{"name":"\xe9"}', 'latin1');
    expect((await app().app.request('/body', { method: 'POST', body })).status).toBe(422);
  });

  it.each([
    [
      'a number that would be stored as null',
      '{"name":"x","more":[{"size":1e400}]}',
      ['more', 0, 'size'],
      'finite_number',
    ],
    ['a name that would be lost', '{"name":"x","__proto__":{}}', ['__proto__'], 'reserved_name'],
  ])('gets a 422 for %s, with its place', async (_, body, place, type) => {
    const response = await app().app.request('/body', post(body));
    expect(response.status).toBe(422);
    expect(await response.json()).toEqual({
      detail: [{ loc: ['body', ...place], msg: expect.any(String), type }],
    });
  });

  it('gets a 422 without a body, unless the body is optional', async () => {
    const { app: hono } = app();
    expect((await hono.request('/body', { method: 'POST' })).status).toBe(422);
    const optional = await hono.request('/optional', { method: 'POST' });
    expect(await optional.json()).toEqual({});
  });

  it('gets a 422 for the query and the path', async () => {
    const { app: hono } = app();
    const query = (await (await hono.request('/query?limit=9')).json()) as { detail: { loc: unknown }[] };
    expect(query.detail[0]?.loc).toEqual(['query', 'limit']);
    const path = (await (await hono.request('/things/x')).json()) as { detail: { loc: unknown }[] };
    expect(path.detail[0]?.loc).toEqual(['path', 'id']);
  });
});

it('a request without the API key gets a 401 that names its header', async () => {
  const response = await app().app.request('/private/x');
  expect(response.status).toBe(401);
  expect(response.headers.has('www-authenticate')).toBe(true);
  expect(await response.json()).toEqual({ detail: expect.stringContaining('X-Api-Key') });
});

it('a client that leaves in the middle of its body is not reported as a database that is away', async () => {
  const { app: hono, logged } = app();
  const answer = getRequestListener(hono.fetch);
  const answered: unknown[] = [];
  const listening = await listen((incoming, outgoing) => void answered.push(answer(incoming, outgoing)), {
    port: 0,
  });
  for (const path of ['/body', '/optional']) {
    const sent = request(listening.url + path, { method: 'POST', headers: { 'content-length': 90 } });
    sent.on('error', () => undefined).write('{');
    await vi.waitFor(() => expect(answered).toHaveLength(path === '/body' ? 1 : 2), 10_000);
    sent.destroy();
    await answered.at(-1);
  }
  await listening.close();
  expect(logged).toEqual([]);
});

it.each([
  { how: 'with a length', hasLength: true, headers: '' },
  { how: 'without a length', hasLength: false, headers: '' },
  { how: 'on a connection that closes', hasLength: false, headers: 'connection: close\r\n' },
])('a client that sends all of a too large body $how receives the error', async ({ how: _, ...how }) => {
  const url = await serveApp();
  const { status, body } = await sendAll('POST', `${url}/body`, { megabytes: 48, ...how });
  expect(status).toBe(413);
  expect(body).toEqual({ detail: 'The body is larger than 100 bytes.' });
});

it.each([
  { status: 401, path: '/private/x' },
  { status: 404, path: '/nothing' },
])(
  'a client that closes its connection and sends all of its body first receives the $status',
  async ({ status, path }) => {
    const url = await serveApp();
    const headers = 'connection: close\r\n';
    const answer = await sendAll('POST', url + path, { megabytes: 48, headers });
    expect(answer.status).toBe(status);
  },
);

describe('a client that asks by Expect: 100-continue whether to send its body', () => {
  it.each([
    { path: '/body', length: 101, answer: 'HTTP/1.1 413' },
    { path: '/private/x', length: 10, answer: 'HTTP/1.1 401' },
    { path: '/body', length: 10, answer: 'HTTP/1.1 100' },
    { path: '/body', length: undefined, answer: 'HTTP/1.1 100' },
  ])('gets $answer for $path with $length bytes', async ({ path, length, answer }) => {
    const url = await serveApp();
    const socket = connect(Number(new URL(url).port));
    const framing = length === undefined ? 'transfer-encoding: chunked' : `content-length: ${length}`;
    socket.write(`POST ${path} HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\n${framing}\r\n\r\n`);
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(String(first).slice(0, answer.length)).toBe(answer);
    socket.destroy();
  });
});

it('a body that nobody reads does not block the next request of its connection', async () => {
  const url = await serveApp();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (const path of ['/unread', '/nothing', '/unread']) {
    const sent = request(url + path, { method: 'POST', agent });
    sent.end(Buffer.alloc(1_000_000));
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    expect(await text(answer)).toBe(path === '/unread' ? 'unread' : '{"detail":"Not Found"}');
    if (!sent.writableFinished) await once(sent, 'finish');
  }
  agent.destroy();
});

it('a thrown value that is no error is a 500 without internals, and one log line', async () => {
  const served = app();
  const url = await serveApp(served);
  const answered = await fetch(`${url}/text`);
  expect(answered.status).toBe(500);
  expect(await answered.json()).toEqual({ detail: 'Internal Server Error' });
  expect(served.logged).toEqual([expect.stringContaining('"message":"inside"')]);
});

it.each(['GET /teapot HTTP/1.1\r\nhost: a b', 'OPTIONS * HTTP/1.1\r\nhost: a'])(
  'a request without a URL is answered as every error (%j)',
  async (head) => {
    const url = await serveApp();
    const socket = connect(Number(new URL(url).port));
    socket.write(`${head}\r\nconnection: close\r\n\r\n`);
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1.1 400 Bad Request\r\n/u);
    expect(answer).toMatch(/\r\n\r\n\{"detail":"Bad Request: [^"]+\."\}$/u);
  },
);
