import { connect, type Server } from 'node:net';
import { join } from 'node:path';

import { startRelay } from './relay.ts';

/** The folder and names of a container's sockets (`docker/sockets.ts`). */
export const SOCKETS = { folder: '/run/slipway', agent: 'agent.sock', egress: 'egress.sock' } as const;
/** `pg`'s name for the socket of a server on the default port. */
export const STORAGE_SOCKET = '.s.PGSQL.5432';

/** The outbound proxy, on the container's own loopback. */
const PROXY_PORT = 3128;
export const PROXY = `http://127.0.0.1:${PROXY_PORT}`;

/** Opens {@link PROXY} inside of a container: its clients are joined to the socket of the platform's proxy. */
export function openProxyPort(folder: string): Promise<Server> {
  return startRelay({ port: PROXY_PORT, host: '127.0.0.1' }, () =>
    connect({ path: join(folder, SOCKETS.egress) }),
  );
}

/** The variables that make a program in a container use the proxy, in both spellings. */
export function proxyVariables(): Record<string, string> {
  const proxy = { HTTP_PROXY: PROXY, HTTPS_PROXY: PROXY, NO_PROXY: 'localhost,127.0.0.1,::1' };
  const lower = Object.entries(proxy).map(([name, value]) => [name.toLowerCase(), value] as const);
  // The last one is for Node itself, in versions that support it.
  return { ...proxy, ...Object.fromEntries(lower), NODE_USE_ENV_PROXY: '1' };
}
