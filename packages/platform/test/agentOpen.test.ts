import { join } from 'node:path';

import { expect, it } from 'vitest';

import { prepareHome } from '../../../test/support/preparedHome.ts';
import { endInOrder, launchAgent } from './agentServer/agentUnderTest.ts';
import { temporaryFolder } from '../../../test/support/temporaryFolder.ts';

it('an agent reachable from other machines does not start without a key', async () => {
  const { exited, stdout } = launchAgent({ more: ['--host', '0.0.0.0'] });
  expect(await exited).toEqual({ code: 1, signal: null });
  expect(JSON.parse(stdout())).toMatchObject({
    code: 'SLIPWAY_AGENT_OPEN',
    message: 'Every client that reaches 0.0.0.0 could run this agent',
    hint: expect.stringContaining('--without-key'),
  });
});

it.each([
  ['with a key', { SLIPWAY_AGENT_API_KEY: 'a-key-of-this-test' }, []],
  ['if it is told to', {}, ['--without-key']],
])('it starts %s', async (_, env, more) => {
  const home = await temporaryFolder();
  await prepareHome(join(home, 'agent'));
  const agent = launchAgent({ env: { SLIPWAY_HOME: home, ...env }, more: ['--host', '0.0.0.0', ...more] });
  const url = await agent.ready;
  expect((await fetch(new URL('/ok', url))).status).toBe(200);
  await endInOrder({ ...agent, url });
});
