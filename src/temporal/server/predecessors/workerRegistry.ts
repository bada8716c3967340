import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { hostname } from 'node:os';
import { join, relative } from 'node:path';

import type { TemporalSettings } from '../../client/temporalSettings.ts';

/** The workers of one task queue that share one home on one machine: this worker, and those known to be dead. */
export interface WorkerRegistry {
  /** This worker's identity: `slipway@HOST:PID:INSTANCE`. It is unique. */
  readonly identity: string;
  /** The instances that were killed: the last part of their identities. */
  killed(): Promise<readonly string[]>;
  forget(instance: string): Promise<void>;
  leave(): Promise<void>;
}

const FOLDER = 'workers';

/**
 * Registers a worker in its home, so that the next worker can detect that it was killed.
 *
 * Each worker listens on a socket `<home>/workers/<queue>-<machine>-<instance>` while it lives. When it dies, the
 * kernel refuses connections: that is the proof. Process ids prove less. They are reused, and mean nothing in another
 * container, which may even have the same host name. Only the kernel that created a socket can tell whether it is
 * dead. So the name contains the machine's boot id, and workers of other machines that share the home over a network
 * are ignored.
 * @throws Error if the socket cannot be created: the home is not writable, its path has more than about 100
 * characters, or the file system has no sockets. The worker still works, but the next one cannot detect that it was
 * killed.
 */
export async function joinWorkers(
  home: string,
  settings: Pick<TemporalSettings, 'namespace' | 'taskQueue'>,
): Promise<WorkerRegistry> {
  const folder = join(home, FOLDER);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const queue = shortDigest(`${settings.namespace} ${settings.taskQueue}`);
  const prefix = `${queue}-${shortDigest(await machine())}-`;
  const instance = newInstance();
  const server = await listen(join(folder, prefix + instance));
  return {
    identity: workerIdentity(instance),
    async killed() {
      const others = (await readdir(folder))
        .filter((name) => name.startsWith(prefix))
        .map((name) => name.slice(prefix.length))
        .filter((other) => other !== instance);
      const dead = await Promise.all(others.map((other) => isDead(join(folder, prefix + other))));
      return others.filter((_, index) => dead[index]);
    },
    forget: (other) => rm(join(folder, prefix + other), { force: true }),
    leave: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** A worker's identity, which Temporal records with every task that the worker takes. */
export function workerIdentity(instance: string = newInstance()): string {
  return `slipway@${hostname()}:${process.pid}:${instance}`;
}

export function isInstance(identity: string, instance: string): boolean {
  return identity.endsWith(`:${instance}`);
}

function newInstance(): string {
  return randomBytes(6).toString('hex');
}

async function listen(path: string): Promise<Server> {
  // A connection only tests whether this process listens.
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(shortest(path), resolve);
  });
  return server.unref();
}

/** Only a refused connection proves that no process listens. A missing socket was removed by a process that knew. */
function isDead(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(shortest(path));
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
  });
}

/** The limit of the system's `sun_path`, without its last byte. */
const SOCKET_PATH_MAX_BYTES = process.platform === 'linux' ? 107 : 103;

/** A socket's path is limited to about 100 characters. A relative path is often shorter. */
function shortest(path: string): string {
  const fromHere = relative(process.cwd(), path);
  const short = fromHere.length < path.length ? fromHere : path;
  // Node 20 cuts a longer one without an error.
  if (Buffer.byteLength(short) > SOCKET_PATH_MAX_BYTES) throw new Error(`${path} is too long for a socket`);
  return short;
}

/** The boot id of the machine's kernel. On systems other than Linux, only the host name. */
async function machine(): Promise<string> {
  try {
    return await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return hostname();
  }
}

function shortDigest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}
