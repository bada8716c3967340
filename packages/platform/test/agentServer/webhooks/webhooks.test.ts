import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';

import { Webhooks } from '../../../src/agentServer/webhooks/webhooks.ts';
import { createLogger } from '../../../src/http/logger.ts';

const logged: string[] = [];
const log = createLogger({ level: 'info', destination: { write: (line) => void logged.push(line) } });
const got: { url: string; body: string; headers: IncomingHttpHeaders }[] = [];
let server: Server;
let url: string;
let answer: { status: number; headers?: Record<string, string> };

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      got.push({ url: request.url ?? '', body, headers: request.headers });
      response.writeHead(answer.status, answer.headers).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

beforeEach(() => {
  got.length = 0;
  logged.length = 0;
  answer = { status: 200 };
});

afterAll(() => server.close());

it('a webhook carries a signature that its secret verifies, where there is one', async () => {
  const webhooks = new Webhooks({ allow: ['127.0.0.1'], secret: 'whisper', log });
  await webhooks.deliver(`${url}/hook`, '{"a":1}', 'run');
  const [sent] = got;
  expect(sent).toMatchObject({ url: '/hook', body: '{"a":1}' });
  const [, at = '', mac] =
    /^t=(\d+),v1=([\da-f]{64})$/.exec(String(sent?.headers['x-slipway-signature'])) ?? [];
  expect(mac).toBe(createHmac('sha256', 'whisper').update(`${at}.{"a":1}`).digest('hex'));
  expect(Math.abs(Date.now() / 1_000 - Number(at))).toBeLessThan(60);
  await webhooks.close();
  const plain = new Webhooks({ allow: ['127.0.0.1'], log });
  await plain.deliver(url, '{}', 'run');
  expect(got[1]?.headers).not.toHaveProperty('x-slipway-signature');
  await plain.close();
});

it('a webhook is not sent where it may not go, neither itself nor through a redirect or a name', async () => {
  const { port } = new URL(url);
  const closed = new Webhooks({ log, retryAfterMs: [1] });
  await Promise.all([
    closed.deliver(url, '{}', 'r1'),
    closed.deliver(`http://a.b.localhost:${port}`, '{}', 'r2'),
  ]);
  expect(got).toEqual([]);
  await closed.close();
  const open = new Webhooks({ allow: ['127.0.0.1'], log, retryAfterMs: [1, 1] });
  answer = { status: 307, headers: { location: `http://localhost:${port}/inside` } };
  await open.deliver(`${url}/secret-path`, '{}', 'r3');
  expect(got.map((each) => each.url)).toEqual(['/secret-path', '/secret-path', '/secret-path']);
  await open.close();
  expect(logged.join('')).toContain('it answered 307, and redirects are not followed');
  expect(logged.join('')).not.toContain('secret-path');
});
