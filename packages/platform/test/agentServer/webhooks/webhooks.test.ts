import { createHmac } from 'node:crypto';
import type { LookupAddress } from 'node:dns';

import { beforeEach, describe, expect, it } from 'vitest';

import { ReachableAddresses } from '../../../src/agentServer/webhooks/reachableAddresses.ts';
import { Webhooks } from '../../../src/agentServer/webhooks/webhooks.ts';
import { createLogger } from '../../../src/http/logger.ts';
import { type FaultyService, startService } from '../../../../../test/clients/faultyService.ts';

const logged: string[] = [];
const log = createLogger({ level: 'info', destination: { write: (line) => void logged.push(line) } });
let receiver: FaultyService;
let answer: { status: number; headers?: Record<string, string> };

beforeEach(async () => {
  logged.length = 0;
  answer = { status: 200 };
  receiver = await startService((_, response) => response.writeHead(answer.status, answer.headers).end());
});

it('a webhook with a secret carries a valid signature', async () => {
  const webhooks = new Webhooks({ allow: ['127.0.0.1'], secret: 'whisper', log });
  await webhooks.deliver(`${receiver.url}/hook`, '{"a":1}', 'run');
  const [sent] = receiver.requests;
  expect(sent).toMatchObject({ url: '/hook', body: '{"a":1}' });
  const [, at = '', mac] =
    /^t=(\d+),v1=([\da-f]{64})$/.exec(String(sent?.headers['x-slipway-signature'])) ?? [];
  expect(mac).toBe(createHmac('sha256', 'whisper').update(`${at}.{"a":1}`).digest('hex'));
  expect(Math.abs(Date.now() / 1_000 - Number(at))).toBeLessThan(60);
  await webhooks.close();
  const plain = new Webhooks({ allow: ['127.0.0.1'], log });
  await plain.deliver(receiver.url, '{}', 'run');
  expect(receiver.requests[1]?.headers).not.toHaveProperty('x-slipway-signature');
  await plain.close();
});

it('a webhook is not sent to a forbidden address, directly, by a redirect or by a name', async () => {
  const { port } = new URL(receiver.url);
  const closed = new Webhooks({ log, retryAfterMs: [1] });
  await Promise.all([
    closed.deliver(receiver.url, '{}', 'r1'),
    closed.deliver(`http://a.b.localhost:${port}`, '{}', 'r2'),
  ]);
  expect(receiver.requests).toEqual([]);
  await closed.close();
  const open = new Webhooks({ allow: ['127.0.0.1'], log, retryAfterMs: [1, 1] });
  answer = { status: 307, headers: { location: `http://localhost:${port}/inside` } };
  await open.deliver(`${receiver.url}/secret-path`, '{}', 'r3');
  expect(receiver.requests.map((each) => each.url)).toEqual(['/secret-path', '/secret-path', '/secret-path']);
  await open.close();
  expect(logged.join('')).toContain('it answered 307, and redirects are not followed');
  expect(logged.join('')).not.toContain('secret-path');
});

const looked = (addresses: ReachableAddresses, host: string) =>
  new Promise<string | LookupAddress[]>((resolve, reject) => {
    addresses.lookup(host, { all: true }, (error, found) => {
      if (error) reject(error);
      else resolve(found);
    });
  });

describe('the addresses of webhooks', () => {
  it.each([
    'http://127.0.0.1:80/',
    'http://localhost/',
    'http://a.localhost./',
    'http://10.1.2.3/',
    'http://172.31.255.255/',
    'http://192.168.0.1/',
    'http://169.254.169.254/latest/meta-data',
    'http://100.64.0.1/',
    'http://0.0.0.0/',
    'http://255.255.255.255/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://[::1]/',
    'http://[::]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:a00:1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://[2002:7f00:1::]/',
    'http://[fd00::1]/',
    'http://[fe80::1]/',
  ])('that are not public are rejected: %s', (url) => {
    expect(new ReachableAddresses().refusal(url)).toMatch(/is not a public address|this machine itself/);
  });

  it.each(['http://8.8.8.8/', 'http://[2606:4700::1111]/', 'https://hooks.example/', 'http://172.32.0.1/'])(
    'that are public are allowed, names until they are resolved: %s',
    (url) => {
      expect(new ReachableAddresses().refusal(url)).toBeUndefined();
    },
  );

  it('behind a name are checked when it is resolved', async () => {
    await expect(looked(new ReachableAddresses(), 'localhost')).rejects.toThrow(/not a public address/);
    expect(await looked(new ReachableAddresses(['127.0.0.0/8', '::1']), 'localhost')).not.toHaveLength(0);
  });

  it('that the settings allow are reachable: an address, a network, a name, all', () => {
    const allowing = (...allowed: string[]) => new ReachableAddresses(allowed);
    expect(allowing('127.0.0.1').refusal('http://127.0.0.1/')).toBeUndefined();
    expect(allowing('127.0.0.1').refusal('http://127.0.0.2/')).toBeDefined();
    expect(allowing('10.0.0.0/8').refusal('http://10.9.9.9/')).toBeUndefined();
    expect(allowing('fd00::/8').refusal('http://[fd12::1]/')).toBeUndefined();
    expect(allowing('Localhost').refusal('http://localhost/')).toBeUndefined();
    expect(allowing('*').refusal('http://[::1]/')).toBeUndefined();
  });

  it.each(['10.0.0.0/33', 'fe80::/129', 'a/8', '-', 'two words'])('are not %s', (entry) => {
    expect(() => new ReachableAddresses([entry])).toThrow(RangeError);
  });
});
