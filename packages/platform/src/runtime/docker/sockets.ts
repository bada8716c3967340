import { chmod, lstat, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { type AddressInfo, connect, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { listenAt, SOCKETS, startRelay, STORAGE_SOCKET } from '../containedNetwork.ts';
import type { ContainerOwner } from './containerRequest.ts';

type SocketOwner = Pick<ContainerOwner, 'platform' | 'process'>;

/** Opens the socket of a container without a network that only connects out, through `egress`. */
export async function openEgressSocket(egress: Server, owner: SocketOwner) {
  // Only this user may enter the outer folder.
  const above = await mkdtemp(join(tmpdir(), ofProcess(owner)));
  const folder = join(above, 'sockets');
  await mkdir(folder);
  await listenAt(egress, { path: join(folder, SOCKETS.egress) });
  return {
    /** The folder of the sockets, mounted in the container at `SOCKETS.folder`. */
    folder,
    close: async (): Promise<void> => {
      egress.close();
      await rm(above, { recursive: true, force: true });
    },
  };
}

/**
 * Opens sockets in a folder for one container: in to the agent, out to its database, and out to `egress`. So the
 * container needs no network and reaches nothing else.
 * @param databaseUrl - the agent's database; `undefined` if it has none.
 */
export async function openSockets(databaseUrl: string | undefined, egress: Server, owner: SocketOwner) {
  const { folder, close } = await openEgressSocket(egress, owner);
  // The agent creates its socket here. The image chooses its user, so every user may write.
  await chmod(folder, 0o777);
  const storage =
    databaseUrl === undefined
      ? undefined
      : await startRelay({ path: join(folder, STORAGE_SOCKET) }, () => connect(placeOf(databaseUrl)));
  const agent = await startRelay({ port: 0, host: '127.0.0.1' }, () =>
    connect({ path: join(folder, SOCKETS.agent) }),
  );
  return {
    folder,
    /** The agent's address, on loopback. */
    url: `http://127.0.0.1:${(agent.address() as AddressInfo).port}`,
    close: async (): Promise<void> => {
      for (const server of [agent, storage]) server?.close();
      await close();
    },
  };
}

/** Removes the sockets of earlier processes of a platform, which have ended: its home has one owner (`lockHome`). */
export async function removeLeftSockets(owner: SocketOwner): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(ofPlatform(owner)) || name.startsWith(ofProcess(owner))) continue;
    const path = join(tmpdir(), name);
    // Everyone may write in this place.
    const { uid } = await lstat(path);
    if (uid === process.getuid?.()) await rm(path, { recursive: true, force: true });
  }
}

/** The beginning of folder names, and of no others. Short: systems limit a socket's path to about 100 characters. */
function ofPlatform({ platform }: SocketOwner): string {
  return `slipway.${platform.slice(0, 8)}.`;
}

function ofProcess(owner: SocketOwner): string {
  return `${ofPlatform(owner)}${owner.process.slice(0, 4)}.`;
}

/** The address of a database URL's server. As in `pg`, `host` in the query is a folder of sockets. */
function placeOf(databaseUrl: string): { host: string; port: number } | { path: string } {
  const url = new URL(databaseUrl);
  const port = url.port === '' ? 5432 : Number(url.port);
  const host = url.searchParams.get('host') ?? decodeURIComponent(url.hostname);
  return host.startsWith('/')
    ? { path: `${host}/.s.PGSQL.${port}` }
    : { host: host.replace(/^\[|\]$/gu, ''), port };
}
