import { type ChildProcess, execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { createConnection } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';

import { freePorts, kill, startServer } from '../processes.ts';

/** A PostgreSQL server with its default settings, except the number of connections. */
export interface Postgres {
  readonly url: string;
  close(): Promise<void>;
}

const DEBIAN = '/usr/lib/postgresql';
/** Postgres refuses to run as root. */
const NOBODY = { uid: 65_534, gid: 65_534 };

/**
 * Starts Debian's PostgreSQL in an empty folder.
 * @throws if it is not installed.
 */
export async function startPostgres(folder: string): Promise<Postgres> {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort() : [];
  const bin = join(DEBIAN, versions.at(-1) ?? 'none', 'bin');
  if (!existsSync(join(bin, 'initdb')))
    throw new Error('PostgreSQL is not installed: apt install postgresql');
  const data = join(folder, 'postgres');
  mkdirSync(data, { mode: 0o700 });
  const user = process.getuid?.() === 0 ? NOBODY : {};
  if (user === NOBODY) {
    chownSync(data, NOBODY.uid, NOBODY.gid);
    chmodSync(folder, 0o711);
  }
  const options = { ...user, cwd: '/' };
  const settings = ['-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C'];
  execFileSync(join(bin, 'initdb'), ['-D', data, ...settings], { ...options, stdio: 'ignore' });
  const [port = 0] = await freePorts(1);
  const args = ['-D', data, '-h', '127.0.0.1', '-p', String(port)];
  args.push('-c', 'max_connections=300', '-c', 'unix_socket_directories=');
  const server = await startServer(join(bin, 'postgres'), args, () => listens(port), options);
  return { url: `postgres://postgres@127.0.0.1:${port}/bench`, close: () => stop(server) };
}

async function listens(port: number): Promise<void> {
  const socket = createConnection({ port, host: '127.0.0.1' });
  await once(socket, 'connect');
  socket.destroy();
}

/** Its children end with it only after a graceful stop. */
async function stop(server: ChildProcess): Promise<void> {
  const exited = once(server, 'exit');
  server.kill('SIGQUIT');
  await exited;
  await kill(server);
}
