import { rm } from 'node:fs/promises';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { RUN_API_ENDPOINTS } from '@slipway/contract/runApi/endpoints';
import { preparedAgentHome } from '../../../../../test/support/preparedHome.ts';
import { type AgentUnderTest, startAgentUnderTest } from '../agentUnderTest.ts';
import { type Row, ServerUnderTest } from './row.ts';
import { ROWS } from './rows.ts';

/** Another server with the fixture's graphs is held against the table with `RUN_API_URL` (and `RUN_API_KEY`). */
const { RUN_API_URL, RUN_API_KEY } = process.env;
const KEY = 'open sesame';

let home = '';
let agent: AgentUnderTest | undefined;
let server: ServerUnderTest;

beforeAll(async () => {
  if (RUN_API_URL !== undefined) {
    server = new ServerUnderTest(RUN_API_URL, RUN_API_KEY);
    return;
  }
  home = await preparedAgentHome('slipway-conformance-');
  agent = await startAgentUnderTest({ env: { SLIPWAY_HOME: home, SLIPWAY_AGENT_API_KEY: KEY } });
  server = new ServerUnderTest(agent.url, KEY);
}, 180_000);

afterAll(async () => {
  if (agent === undefined) return;
  agent.child.kill('SIGTERM');
  expect(await agent.exited).toEqual({ code: 0, signal: null });
  await rm(home, { recursive: true, force: true });
});

/** A row that cancels on every thread has the server for itself. */
const reachesAll = ({ row }: Row) => row.startsWith('POST /runs/cancel') && row.includes('status');

describe.concurrent.each([...new Set(ROWS.map(({ section }) => section))])('contract 001, %s', (section) => {
  it.each(
    ROWS.filter((row) => row.section === section && !reachesAll(row)).map((row) => [row.row, row] as const),
  )('%s', async (_row, { check }) => {
    await check(server);
  });
});

describe('contract 001, across all threads', () => {
  it.each(ROWS.filter(reachesAll).map((row) => [row.row, row] as const))('%s', async (_row, { check }) => {
    await check(server);
  });
});

it('has every endpoint of the contract, and no other', () => {
  const named = ROWS.filter(({ section }) => section === 'Endpoints').map(({ row }) => row);
  const endpoints = Object.values(RUN_API_ENDPOINTS)
    .filter(({ section }) => section.startsWith('contract'))
    .map(({ service, method, path }) => `${method} ${service === 'tracing' ? '{tracing_url}' : ''}${path}`);
  const without = endpoints.filter((each) => !named.some((row) => startsWithEndpoint(row, each)));
  expect(without).toEqual([]);
  const strange = named.filter((row) => !row.startsWith('feedback field'));
  expect(strange.filter((row) => !endpoints.some((each) => startsWithEndpoint(row, each)))).toEqual([]);
});

/** `POST /runs/cancel?action=… with …` is a row of `POST /runs/cancel`. */
function startsWithEndpoint(row: string, endpoint: string): boolean {
  return row.startsWith(endpoint) && /^(?:$|[ ?])/.test(row.slice(endpoint.length));
}

it('names each row once', () => {
  const names = ROWS.map(({ section, row }) => `${section}: ${row}`);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});
