import { beforeAll, describe, expect, it } from 'vitest';

import { RUN_API_ENDPOINTS } from '@slipway/contract/runApi/endpoints';
import { useAgent } from '../agentUnderTest.ts';
import { type Row, ServerUnderTest } from './row.ts';
import { ROWS } from './rows.ts';

/** Set `RUN_API_URL` (and `RUN_API_KEY`) to check another server with the fixture's graphs. */
const { RUN_API_URL, RUN_API_KEY } = process.env;
const KEY = 'open sesame';

const { agent } = RUN_API_URL === undefined ? useAgent({ SLIPWAY_AGENT_API_KEY: KEY }) : { agent: undefined };
let server: ServerUnderTest;
beforeAll(() => {
  server =
    agent === undefined
      ? new ServerUnderTest(RUN_API_URL ?? '', RUN_API_KEY)
      : new ServerUnderTest(agent().url, KEY);
});

/** A row that cancels on every thread needs the server alone. */
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

it('covers exactly the endpoints of the contract', () => {
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
