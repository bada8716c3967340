import { createServer } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { prepareHome } from '../../../../test/support/preparedHome.ts';
import { createControlPlaneClient } from '../../../../src/clients/controlPlane.ts';
import { createLogger } from '../../src/http/logger.ts';
import { agentRoute, openMetrics } from '../../src/metrics/serveMetrics.ts';
import { type Platform, startPlatform } from '../../src/platform.ts';
import { temporaryFolder, useFolder } from '../../../../test/support/temporaryFolder.ts';
import { freePort, listen } from '../../../../test/support/listen.ts';
import { CREATES } from '../../../contract/test/controlPlane/requests.ts';

const SECRET = 'planted-secret-6d1f';
const log = createLogger({ level: 'silent' });

const home = useFolder();
let metricsPort: number;
let platform: Platform;

beforeAll(async () => {
  await prepareHome(home);
  metricsPort = await freePort();
  platform = await startPlatform({
    home,
    port: 0,
    apiKey: SECRET,
    metrics: { host: '127.0.0.1', port: metricsPort },
    log,
    buildRevision: () => Promise.resolve({ ok: false, reason: `no build: ${SECRET}` }),
  });
});

afterAll(() => platform.close());

async function scrape(): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
  expect(answer.status).toBe(200);
  return answer.text();
}

describe('the metrics of a platform', () => {
  it('are served without a key on their own listener, and not on the control plane’s with any key', async () => {
    expect(await scrape()).toContain('slipway_platform_agents 0');
    for (const headers of [new Headers(), new Headers({ 'x-api-key': SECRET })]) {
      const answer = await fetch(`${platform.url}/metrics`, { headers });
      expect(answer.status).toBe(404);
    }
    const other = await fetch(`http://127.0.0.1:${metricsPort}/v2/deployments`, {
      headers: { 'x-api-key': SECRET },
    });
    expect(other.status).toBe(404);
  });

  it('count requests by the template of their route, builds and queries, without ids and secrets', async () => {
    const client = createControlPlaneClient({ baseUrl: platform.url, apiKey: SECRET });
    const { id } = await client.createDeployment({
      ...CREATES.internal_source,
      name: 'measured',
      secrets: [{ name: 'TOKEN', value: SECRET }],
    });
    await client.getDeployment(id);
    await fetch(`${platform.url}/nowhere/${SECRET}`);
    await fetch(`${platform.url}/agents/${id}/threads/${id}?q=${SECRET}`, {
      headers: { 'x-api-key': SECRET },
    }).then((answer) => answer.text());
    await client.close();

    const text = await scrape();
    const requests = 'slipway_platform_http_request_duration_seconds_count';
    expect(text).toContain(`${requests}{method="POST",route="/v2/deployments",status="201"} 1`);
    expect(text).toContain(
      `${requests}{method="GET",route="/v2/deployments/{deployment_id}",status="200"} 1`,
    );
    expect(text).toContain(`${requests}{method="GET",route="other",status="404"}`);
    expect(text).toMatch(
      new RegExp(
        `${requests}\\{method="GET",route="/agents/\\{deployment_id\\}/threads/\\{thread_id\\}",status="503"\\} 1`,
      ),
    );
    expect(text).toMatch(/slipway_platform_database_query_duration_seconds_count\{result="ok"\} [1-9]/);
    // It waits for its source.
    expect(text).toContain('slipway_platform_revisions{status="AWAITING_BUILD"} 1');
    expect(text).toContain('slipway_platform_builds_queued 0');
    expect(text).toContain('slipway_platform_runs{status="running"} 0');
    expect(text).not.toContain(SECRET);
    expect(text).not.toContain(id);
  });

  it('show when the next API key expires', async () => {
    expect(await scrape()).not.toContain('slipway_platform_api_key_expiry_timestamp_seconds ');
    const expires = Math.floor(Date.now() / 1_000) + 86_400;
    const answer = await fetch(`${platform.url}/v1/api-keys`, {
      method: 'POST',
      headers: { 'x-api-key': SECRET, 'content-type': 'application/json' },
      body: JSON.stringify({
        name: 'ci',
        scope: 'deploy',
        expires_at: new Date(expires * 1_000).toISOString(),
      }),
    });
    expect(answer.ok, await answer.text()).toBe(true);
    expect(await scrape()).toContain(`slipway_platform_api_key_expiry_timestamp_seconds ${expires}`);
  });

  it('fail on a port that is in use, with the option that changes it', async () => {
    const second = await temporaryFolder();
    await prepareHome(second);
    const start = startPlatform({
      home: second,
      port: 0,
      log,
      metrics: { host: '127.0.0.1', port: metricsPort },
    });
    await expect(start).rejects.toMatchObject({
      code: 'SLIPWAY_PORT_UNAVAILABLE',
      hint: expect.stringContaining('--metrics') as string,
    });
  });
});

it('two scrapes at the same time share one reading, which counts ended runs once', async () => {
  const { listener, readFrom } = openMetrics();
  let read: () => void = () => undefined;
  const reading = vi.fn(() => new Promise<[]>((resolve) => (read = () => resolve([]))));
  readFrom(reading);
  let arrived = 0;
  const server = createServer((request, response) => {
    listener(request, response);
    arrived += 1;
  });
  const url = `${await listen(server)}/metrics`;
  const scrapes = Promise.all([fetch(url), fetch(url)]);
  await vi.waitFor(() => expect(arrived).toBe(2));
  await nextTurn();
  expect(reading).toHaveBeenCalledOnce();
  read();
  for (const scrape of await scrapes) await scrape.text();
  server.close();
});

describe('labels', () => {
  it('hold only listed values; any other becomes "other"', async () => {
    const { record, listener } = openMetrics();
    record('slipway_platform_run_duration_seconds', 1, { status: SECRET });
    record('slipway_platform_run_duration_seconds', 1, { status: 'success' });
    for (let route = 0; route < 1_000; route++)
      record('slipway_platform_http_request_duration_seconds', 1, {
        method: 'GET',
        route: `/${route}`,
        status: '200',
      });
    const server = createServer(listener);
    const text = await (await fetch(`${await listen(server)}/metrics`)).text();
    server.close();
    expect(text).toContain('slipway_platform_run_duration_seconds_count{status="other"} 1');
    expect(text).toContain('slipway_platform_run_duration_seconds_count{status="success"} 1');
    expect(text).not.toContain(SECRET);
    const routes = text.match(/http_request_duration_seconds_count\{/g);
    expect(routes).toHaveLength(151);
  });

  it.each([
    ['GET', '/ok', '/agents/{deployment_id}/ok'],
    ['POST', '/threads/search', '/agents/{deployment_id}/threads/search'],
    ['POST', '/threads/abc/runs/stream', '/agents/{deployment_id}/threads/{thread_id}/runs/stream'],
    ['GET', '/no/such/route', 'other'],
    ['BREW', '/ok', 'other'],
  ])('show %s %s of an agent as %s', (method, path, route) => {
    expect(agentRoute(method, path)).toBe(route);
  });
});
