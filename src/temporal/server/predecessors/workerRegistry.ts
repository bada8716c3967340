import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { hostname } from 'node:os';
import { join, relative } from 'node:path';

import type { TemporalSettings } from '../../client/temporalSettings.ts';

/** The workers of one task queue that use one home on one machine: this one, and those that are known to be dead. */
export interface WorkerRegistry {
  /** What this worker calls itself: `slipway@HOST:PID:INSTANCE`. No other process ever has the same. */
  readonly identity: string;
  /** The instances that were killed, the last part of their identities. */
  killed(): Promise<readonly string[]>;
  forget(instance: string): Promise<void>;
  /** Takes this worker from the registry: it has ended in order. */
  leave(): Promise<void>;
}

const FOLDER = 'workers';

/**
 * Registers a worker in its home, so that the next one finds out that it was killed.
 *
 * Each worker listens on a socket `<home>/workers/<queue>-<machine>-<instance>` for as long as it lives. When it dies,
 * however it dies, the kernel stops listening, and a connection is refused: that is the proof. Process ids would prove
 * less: they are used again, and mean nothing in another container, which may even have the same host name. A socket is
 * told from a dead one only under the kernel that made it, so the name holds the machine's boot, and the workers of
 * other machines that share the home (over a network) are left alone.
 *
 * @throws Error if the socket cannot be made: a home that cannot be written, a path of more than some 100
 * characters, a file system without sockets. Such a worker works as well; only its successor cannot find out that it was killed.
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

/** What a worker calls itself; Temporal notes it beside everything that the worker takes. */
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
  // A connection only asks whether this process listens.
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(shortest(path), resolve);
  });
  return server.unref();
}

/** Only a refusal proves that no process listens; a socket that is gone was removed by a process that knew that. */
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

/** A socket's path has room for some 100 characters: the home is often below the working folder. */
function shortest(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere.length < path.length ? fromHere : path;
}

/** The machine, and how long it has been up: a kernel in its one life. Systems other than Linux have only a name. */
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
