import { type ChildProcess, fork, spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { FROM_SOURCE } from '../../test/support/fromSource.ts';

const READY_TIMEOUT_MS = 60_000;
const LAST_CHARACTERS = 2_000;

/**
 * Starts a script of the benchmark in its own process. Resolves when it reports that it is ready.
 * @param script - its address: `new URL('./worker.ts', import.meta.url)`.
 * @param settings - its only argument, as JSON.
 */
export async function startScript(script: URL, settings: unknown): Promise<ChildProcess> {
  const child = fork(fileURLToPath(script), [JSON.stringify(settings)], { execArgv: [...FROM_SOURCE] });
  const ended = once(child, 'exit').then(() => {
    throw new Error(`${script.pathname} ended before it was ready`);
  });
  await Promise.race([once(child, 'message'), ended]);
  ended.catch(() => undefined);
  return child;
}

/** Reports to the parent ({@link startScript}) that this process is ready. It ends when the parent ends. */
export function ready(): void {
  process.once('disconnect', () => process.exit());
  process.send?.('ready');
}

/** The settings that {@link startScript} passed to this process. */
export function settingsOf(): unknown {
  return JSON.parse(process.argv[2] ?? 'null');
}

/** Kills a process with SIGKILL and waits until it has ended. */
export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

/** Starts a server and waits until it serves. It is killed when this process ends. */
export async function startServer(
  program: string,
  args: readonly string[],
  serves: () => Promise<void>,
  options: Omit<SpawnOptions, 'stdio'> = {},
): Promise<ChildProcess> {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  process.once('exit', () => child.kill('SIGKILL'));
  let said = '';
  const listen = (text: Buffer): void => {
    said = (said + text.toString()).slice(-LAST_CHARACTERS);
  };
  child.stdout.on('data', listen);
  child.stderr.on('data', listen);
  child.on('error', (error) => (said += error.message));
  const deadline = Date.now() + READY_TIMEOUT_MS;
  for (;;) {
    try {
      await serves();
      return child;
    } catch (error) {
      if (child.exitCode !== null || child.pid === undefined || Date.now() > deadline) {
        await kill(child);
        throw new Error(`${program} does not serve; its output:\n${said}`, { cause: error });
      }
      await delay(100);
    }
  }
}

/** Free ports on loopback. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
