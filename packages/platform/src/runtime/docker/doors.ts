import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { DOORS, STORAGE_SOCKET } from '../containedAgent.ts';
import { listenAt, relay } from '../relay.ts';

/** The ways between an agent in a container that has no network and what it may reach. */
export interface Doors {
  /** Holds the sockets: mounted in the container at `DOORS.folder`. */
  readonly folder: string;
  /** Where the agent is reached, on loopback. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Opens three doors, as sockets in a folder of one container: in to the agent, out to its database, and out to `egress`. A
 * container with these needs no network, so there is nothing else that it can reach.
 * @param databaseUrl - where the agent's database is.
 */
export async function openDoors(databaseUrl: string, egress: Server): Promise<Doors> {
  // The one above lets nobody in but this user; the inner one is the container's, whatever its user is.
  const above = await mkdtemp(join(tmpdir(), 'slipway-'));
  const folder = join(above, 'doors');
  await mkdir(folder);
  await chmod(folder, 0o777);
  const storage = await relay({ path: join(folder, STORAGE_SOCKET) }, () => connect(placeOf(databaseUrl)));
  await listenAt(egress, { path: join(folder, DOORS.egress) });
  const agent = await relay({ port: 0, host: '127.0.0.1' }, () =>
    connect({ path: join(folder, DOORS.agent) }),
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
