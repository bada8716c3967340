import { createSecretKey, randomBytes } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { codecRoutes } from '../../../../src/cli/commands/codec/codec.ts';
import { type Listening, serve } from '../../../../src/dashboard/listen.ts';
import { PayloadCipher } from '../../../../src/temporal/codec/payloadCipher.ts';

const UI = 'https://temporal.example.com';
const KEY = 'a-key-of-the-codec-server';
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const PLAIN = { payloads: [{ metadata: { encoding: base64('json/plain') }, data: base64('"planted"') }] };

let server: Listening;
beforeAll(async () => {
  const codec = new PayloadCipher([{ id: 'only', key: createSecretKey(randomBytes(32)) }]);
  server = await serve(codecRoutes({ codec, key: KEY, origins: [UI] }), '127.0.0.1', 0);
});
afterAll(() => server.close());

const ask = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${server.url}${path}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { authorization: `Bearer ${KEY}`, ...headers },
  });

describe('the codec server', () => {
  it('encodes and decodes in the form of Temporal’s remote codec', async () => {
    const encoded = (await (await ask('/encode', PLAIN)).json()) as typeof PLAIN;
    expect(encoded.payloads[0]!.metadata.encoding).toBe(base64('binary/encrypted'));
    const decoded = await ask('/decode', encoded, { 'x-namespace': 'default' });
    expect(decoded.headers.get('cache-control')).toBe('no-store');
    expect(await decoded.json()).toEqual(PLAIN);
  });

  it.each(['', 'Bearer wrong', `Basic ${KEY}`])('rejects the credentials "%s"', async (authorization) => {
    const { status } = await ask('/decode', PLAIN, { authorization });
    expect(status).toBe(401);
  });

  it('allows only the pages of Temporal’s UI, with credentials', async () => {
    const asked = { method: 'OPTIONS', headers: { origin: UI, 'access-control-request-method': 'POST' } };
    const { status, headers } = await fetch(`${server.url}/decode`, asked);
    expect(status).toBe(204);
    expect(headers.get('access-control-allow-origin')).toBe(UI);
    expect(headers.get('access-control-allow-credentials')).toBe('true');
    expect(headers.get('access-control-allow-headers')).toContain('x-namespace');

    const other = await ask('/decode', PLAIN, { origin: 'https://elsewhere.example.com' });
    expect(other.status).toBe(403);
    expect(other.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('reports which key is missing', async () => {
    const metadata = { encoding: base64('binary/encrypted'), 'encryption-key-id': base64('lost') };
    const answer = await ask('/decode', { payloads: [{ metadata, data: '' }] });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code: 'SLIPWAY_PAYLOAD_KEY_MISSING' });
  });

  it('answers an invalid payload, path or method with an error', async () => {
    expect((await ask('/decode', 'nonsense')).status).toBe(400);
    expect((await ask('/decode', { payloads: [{ data: '*' }] })).status).toBe(400);
    expect((await ask('/elsewhere', PLAIN)).status).toBe(404);
    expect((await fetch(`${server.url}/decode`)).status).toBe(405);
  });
});
