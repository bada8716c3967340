import { expect, it } from 'vitest';

import { dashboardOf } from '../../src/cli/openTemporal.ts';
import { testOutput } from './testOutput.ts';

const TEAM = { SLIPWAY_DASHBOARD_URL: 'https://slipway.example.com/' };
const DEV = 'http://127.0.0.1:4701';

it('a command links to the page of SLIPWAY_DASHBOARD_URL', () => {
  const context = { environment: TEAM, output: testOutput() };
  for (const origin of ['environment', 'default'] as const) {
    expect(dashboardOf(context, { origin, dashboard: null })).toBe('https://slipway.example.com');
  }
});

it('on the Temporal of slipway dev, a command links to the dashboard of dev, the only one for that Temporal', () => {
  const output = testOutput();
  for (const environment of [TEAM, {}]) {
    expect(dashboardOf({ environment, output }, { origin: 'dev', dashboard: DEV })).toBe(DEV);
  }
});

it('a command links nowhere if no address is known', () => {
  const context = { environment: {}, output: testOutput() };
  expect(dashboardOf(context, { origin: 'environment', dashboard: null })).toBeNull();
  expect(context.output.noted).toEqual([]);
});

it('an invalid address is a warning, because a link must not block a rollback', () => {
  const output = testOutput();
  const environment = { SLIPWAY_DASHBOARD_URL: 'slipway.example.com' };
  expect(dashboardOf({ environment, output }, { origin: 'environment', dashboard: null })).toBeNull();
  expect(output.noted).toEqual([
    'no links to the page: SLIPWAY_DASHBOARD_URL is not an https address; write it as https://HOST',
  ]);
});
