import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { SOCKETS, STORAGE_SOCKET } from '../containedAgent.ts';
import { listenAt, relay } from '../relay.ts';

/** The sockets by which an agent in a container without a network is reached, and reaches its database and the proxy. */
export interface Sockets {
  /** Holds the sockets: mounted in the container at `SOCKETS.folder`. */
  readonly folder: string;
  /** Where the agent is reached, on loopback. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Opens three sockets in a folder of one container: in to the agent, out to its database, and out to `egress`. A
 * container with these needs no network, so there is nothing else that it can reach.
 * @param databaseUrl - where the agent's database is.
 */
export async function openSockets(databaseUrl: string, egress: Server): Promise<Sockets> {
  // Only this user may enter the outer folder. The inner one is the container's, under any user.
  const above = await mkdtemp(join(tmpdir(), 'slipway-'));
  const folder = join(above, 'sockets');
  await mkdir(folder);
  await chmod(folder, 0o777);
  const storage = await relay({ path: join(folder, STORAGE_SOCKET) }, () => connect(placeOf(databaseUrl)));
  await listenAt(egress, { path: join(folder, SOCKETS.egress) });
  const agent = await relay({ port: 0, host: '127.0.0.1' }, () =>
    connect({ path: join(folder, SOCKETS.agent) }),
  );
  return {
    folder,
    url: `http://127.0.0.1:${(agent.address() as AddressInfo).port}`,
    close: async () => {
      for (const server of [agent, storage, egress]) server.close();
      await rm(above, { recursive: true, force: true });
    },
  };
}

/** Where the server of a database URL listens: `host` in its query is a folder of sockets, as `pg` has it. */
function placeOf(databaseUrl: string): { host: string; port: number } | { path: string } {
  const url = new URL(databaseUrl);
  const port = url.port === '' ? 5432 : Number(url.port);
  const host = url.searchParams.get('host') ?? decodeURIComponent(url.hostname);
  return host.startsWith('/')
    ? { path: `${host}/.s.PGSQL.${port}` }
    : { host: host.replace(/^\[|\]$/gu, ''), port };
}
