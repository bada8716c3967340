import { connect } from 'node:net';
import { join } from 'node:path';

import { EnvHttpProxyAgent, setGlobalDispatcher } from 'undici';

import { openProxyPort, PROXY, proxyVariables, SOCKETS, startRelay } from './containedNetwork.ts';

/** The environment of an agent in a container, made from its environment as a process. */
export function containedEnvironment(env: Readonly<Record<string, string>>): Record<string, string> {
  const url = new URL(env['SLIPWAY_AGENT_DATABASE_URL'] ?? '');
  url.hostname = 'localhost';
  url.port = '5432';
  url.searchParams.set('host', SOCKETS.folder);
  return {
    ...env,
    ...proxyVariables(),
    SLIPWAY_AGENT_DATABASE_URL: url.href,
    SLIPWAY_AGENT_SOCKETS: SOCKETS.folder,
    // Its stdin is not held open; the platform removes its container.
    SLIPWAY_EXIT_WITH_PARENT: '0',
    HOME: '/tmp',
  };
}

/** Opens the outbound proxy inside the container before the agent's code is loaded. Returns its address. */
export async function openProxy(folder: string): Promise<string> {
  await openProxyPort(folder);
  setGlobalDispatcher(new EnvHttpProxyAgent());
  return PROXY;
}

/** Inside the container: lets the platform reach the agent's server at `url`. */
export async function openAgentSocket(folder: string, url: string): Promise<void> {
  const port = Number(new URL(url).port);
  await startRelay({ path: join(folder, SOCKETS.agent) }, () => connect({ port, host: '127.0.0.1' }));
}
