import { afterAll, beforeAll, expect, it } from 'vitest';

import type { Listening } from '../../src/dashboard/listen.ts';
import { hookOf, ListenerUnderTest, SECRET } from '../hooks/hookRequests.ts';
import { useFolder } from '../support/temporaryFolder.ts';
import { bundlePageFiles, startTestDashboard } from './testDashboard.ts';

const folder = useFolder();
let dashboard: Listening;
beforeAll(async () => {
  await bundlePageFiles(folder);
  dashboard = await startTestDashboard(folder);
});
afterAll(() => dashboard.close());

it('every response forbids other hosts, inline scripts and frames', async () => {
  const { headers } = await fetch(`${dashboard.url}/nowhere`);
  const policy = headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toContain('unsafe');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('referrer-policy')).toBe('same-origin');
  expect(headers.get('cache-control')).toBe('no-store');
});

it('keeps an idle connection open for longer than proxies do', async () => {
  const { headers } = await fetch(`${dashboard.url}/nowhere`);
  expect(headers.get('keep-alive')).toBe('timeout=620');
});

it('accepts hooks without a sign-in, and shows them nothing else', async () => {
  const listener = new ListenerUnderTest(hookOf('alertmanager'));
  const guarded = await startTestDashboard(folder, {
    access: { signIn: { way: 'key', key: 'a key that a small team shares' } },
    hooks: { routes: listener.app, ofFile: [] },
  });
  try {
    const send = (path: string, token: string): Promise<Response> => {
      const headers = { authorization: `Bearer ${token}` };
      return fetch(guarded.url + path, {
        method: 'POST',
        headers,
        body: '{"alerts":[]}',
        redirect: 'manual',
      });
    };
    expect((await send('/hooks/told', SECRET)).status).toBe(200);
    expect((await send('/hooks/told', 'another')).status).toBe(401);
    expect((await send('/targets', SECRET)).status).not.toBe(200);
  } finally {
    await guarded.close();
  }
});

it('serves its files compressed, for a year', async () => {
  const page = await (await fetch(`${dashboard.url}/nowhere`)).text();
  const address = /href="(\/files\/page\.[^"]+\.css)"/.exec(page)?.[1] ?? '';
  const { status, headers } = await fetch(dashboard.url + address, {
    headers: { 'accept-encoding': 'br' },
  });
  expect(status).toBe(200);
  expect(headers.get('content-type')).toBe('text/css; charset=utf-8');
  expect(headers.get('content-encoding')).toBe('br');
  expect(headers.get('cache-control')).toContain('immutable');
});

it('compresses its pages for a browser that accepts it', async () => {
  const encodingFor = async (accepted: string): Promise<string | null> => {
    const { headers } = await fetch(`${dashboard.url}/nowhere`, { headers: { 'accept-encoding': accepted } });
    expect(headers.get('vary')).toBe('Accept-Encoding');
    return headers.get('content-encoding');
  };
  expect(await encodingFor('gzip')).toBe('gzip');
  expect(await encodingFor('identity')).toBeNull();
});

it('reports a port that is in use', async () => {
  const port = Number(new URL(dashboard.url).port);
  await expect(startTestDashboard(folder, { port })).rejects.toMatchObject({
    code: 'SLIPWAY_PORT_UNAVAILABLE',
  });
});
