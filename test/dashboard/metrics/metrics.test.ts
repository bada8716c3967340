import { createServer } from 'node:http';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { LiveRooms } from '../../../src/dashboard/live/liveRooms.ts';
import { openPageMetrics } from '../../../src/dashboard/metrics/openPageMetrics.ts';
import { bundlePageFiles, startTestDashboard } from '../testDashboard.ts';
import { useFolder } from '../../support/temporaryFolder.ts';
import { freePort, listen } from '../../support/listen.ts';
import type { Listening } from '../../../src/dashboard/listen.ts';

const HOST = '127.0.0.1';

const folder = useFolder();
let dashboard: Listening;
let metrics: string;
beforeAll(async () => {
  await bundlePageFiles(folder);
  const port = await freePort();
  metrics = `http://${HOST}:${port}`;
  dashboard = await startTestDashboard(folder, { metrics: { host: HOST, port } });
});
afterAll(() => dashboard.close());

const read = async (url: string): Promise<string> => (await fetch(url)).text();

it('counts requests by the template of their route and by status, without addresses', async () => {
  // Without a Temporal, pages are errors.
  await fetch(`${dashboard.url}/targets/target-of-a-customer`);
  await fetch(`${dashboard.url}/nowhere/secret-path`);
  const page = await read(`${dashboard.url}/nowhere`);
  await fetch(dashboard.url + (/href="(\/files\/page\.[^"]+\.css)"/.exec(page)?.[1] ?? ''));
  const text = await read(`${metrics}/metrics`);
  const count = 'slipway_dashboard_http_request_duration_seconds_count';
  expect(text).toContain(`${count}{method="GET",route="/targets/{id}",status="500"} 1`);
  expect(text).toContain(`${count}{method="GET",route="other",status="404"} 2`);
  expect(text).toContain(`${count}{method="GET",route="other",status="200"} 1`);
  expect(text).not.toMatch(/customer|secret-path|page\.\w/u);
});

it('serves metrics only on their own listener', async () => {
  expect((await fetch(`${dashboard.url}/metrics`)).status).toBe(404);
  expect((await fetch(`${metrics}/targets`)).status).toBe(404);
});

it('counts the open pages and their rooms', async () => {
  const rooms = new LiveRooms('v1');
  const { listener } = openPageMetrics(rooms);
  const server = createServer(listener);
  const url = `${await listen(server)}/metrics`;
  const viewer = { name: 'ada', proved: false, role: 'view' } as const;
  const session = { csrf: '', ends: Date.now() + 60_000 };
  const page = { fragments: () => ({}), subscribe: () => () => undefined };
  const open = (address: string) => rooms.open(address, { viewer, session }, () => Promise.resolve(page));
  const opened = [await open('/'), await open('/'), await open('/targets/one')];
  expect(await read(url)).toMatch(/open_pages 3\n[^]*rooms 2\n/u);
  await opened[0]?.body?.cancel();
  await opened[2]?.body?.cancel();
  expect(await read(url)).toMatch(/open_pages 1\n[^]*rooms 1\n/u);
  await opened[1]?.body?.cancel();
  server.close();
});
