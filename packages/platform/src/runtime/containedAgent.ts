import { connect } from 'node:net';
import { join } from 'node:path';

import { EnvHttpProxyAgent, setGlobalDispatcher } from 'undici';

import { relay } from './relay.ts';

/** Where an agent in a container finds its sockets (`docker/sockets.ts`), and what they are called. */
export const SOCKETS = { folder: '/run/slipway', agent: 'agent.sock', egress: 'egress.sock' } as const;
/** What `pg` calls the socket of a server on its usual port. */
export const STORAGE_SOCKET = '.s.PGSQL.5432';
/** Where the way out is, inside the container: on its own loopback. */
const PROXY_PORT = 3128;
const PROXY = `http://127.0.0.1:${PROXY_PORT}`;

/** The environment of an agent in a container, from the one that it would have outside. */
export function containedEnvironment(env: Readonly<Record<string, string>>): Record<string, string> {
  const proxy = { HTTP_PROXY: PROXY, HTTPS_PROXY: PROXY, NO_PROXY: 'localhost,127.0.0.1,::1' };
  const lower = Object.entries(proxy).map(([name, value]) => [name.toLowerCase(), value]);
  const url = new URL(env['SLIPWAY_AGENT_DATABASE_URL'] ?? '');
  url.hostname = 'localhost';
  url.port = '5432';
  url.searchParams.set('host', SOCKETS.folder);
  return {
    ...env,
    ...proxy,
    ...(Object.fromEntries(lower) as Record<string, string>),
    // Of Node itself, from the versions on that know it; `fetch` goes through the proxy in any case.
    NODE_USE_ENV_PROXY: '1',
    SLIPWAY_AGENT_DATABASE_URL: url.href,
    SLIPWAY_AGENT_SOCKETS: SOCKETS.folder,
    // Its stdin is not held; its container is removed with the platform.
    SLIPWAY_EXIT_WITH_PARENT: '0',
    HOME: '/tmp',
  };
}

/** Inside the container, before the agent's code is loaded: the way out, for `fetch` as well. Answers its address. */
export async function openProxy(folder: string): Promise<string> {
  await relay({ port: PROXY_PORT, host: '127.0.0.1' }, () => connect({ path: join(folder, SOCKETS.egress) }));
  setGlobalDispatcher(new EnvHttpProxyAgent());
  return PROXY;
}

/** Inside the container: lets the platform in to the agent's server, which listens at `url`. */
export async function openAgentSocket(folder: string, url: string): Promise<void> {
  const port = Number(new URL(url).port);
  await relay({ path: join(folder, SOCKETS.agent) }, () => connect({ port, host: '127.0.0.1' }));
}
