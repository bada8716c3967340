import { connect } from 'node:net';
import { join } from 'node:path';

import { EnvHttpProxyAgent, setGlobalDispatcher } from 'undici';

import { startRelay } from './relay.ts';

/** The folder and names of a contained agent's sockets (`docker/sockets.ts`). */
export const SOCKETS = { folder: '/run/slipway', agent: 'agent.sock', egress: 'egress.sock' } as const;
/** `pg`'s name for the socket of a server on the default port. */
export const STORAGE_SOCKET = '.s.PGSQL.5432';
/** The outbound proxy, on the container's own loopback. */
const PROXY_PORT = 3128;
const PROXY = `http://127.0.0.1:${PROXY_PORT}`;

/** The environment of an agent in a container, made from its environment as a process. */
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
    // For Node itself, in versions that support it; `fetch` uses the proxy in any case.
    NODE_USE_ENV_PROXY: '1',
    SLIPWAY_AGENT_DATABASE_URL: url.href,
    SLIPWAY_AGENT_SOCKETS: SOCKETS.folder,
    // Its stdin is not held open; the platform removes its container.
    SLIPWAY_EXIT_WITH_PARENT: '0',
    HOME: '/tmp',
  };
}

/**
 * Opens the outbound proxy inside the container before the agent's code is loaded, also for `fetch`. Returns its
 * address.
 */
export async function openProxy(folder: string): Promise<string> {
  await startRelay({ port: PROXY_PORT, host: '127.0.0.1' }, () =>
    connect({ path: join(folder, SOCKETS.egress) }),
  );
  setGlobalDispatcher(new EnvHttpProxyAgent());
  return PROXY;
}

/** Inside the container: lets the platform reach the agent's server at `url`. */
export async function openAgentSocket(folder: string, url: string): Promise<void> {
  const port = Number(new URL(url).port);
  await startRelay({ path: join(folder, SOCKETS.agent) }, () => connect({ port, host: '127.0.0.1' }));
}
