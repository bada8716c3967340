import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { freePort } from '../test/support/listen.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const COMMAND = join(ROOT, 'node_modules/@langchain/langgraph-cli/dist/cli/cli.mjs');

/** The limit for the server's start, in milliseconds. */
const START_MS = 120_000;

/** The public JS server (`@langchain/langgraph-api`, started by `langgraphjs dev`), in its own process group. */
export interface PublicServer {
  readonly url: string;
  /** The id of its process group. */
  readonly group: number;
  close(): Promise<void>;
}

/**
 * Starts the public server with the given graphs of a folder. `jobs`: how many runs it executes at once; its default is
 * 10.
 */
export async function startPublicServer(options: {
  agentDir: string;
  graphs: Record<string, string>;
  env?: Record<string, string>;
  jobs?: number;
}): Promise<PublicServer> {
  const dir = await mkdtemp(join(tmpdir(), 'slipway-public-'));
  await cp(options.agentDir, dir, { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
  await writeFile(join(dir, 'package.json'), '{"type":"module"}');
  const { graphs, env = {} } = options;
  await writeFile(join(dir, 'langgraph.json'), JSON.stringify({ node_version: '20', graphs, env }));
  const port = await freePort();
  const flags = ['--port', String(port), '--host', '127.0.0.1', '--no-browser', '--no-reload'];
  const jobs = options.jobs === undefined ? [] : ['--n-jobs-per-worker', String(options.jobs)];
  const child = spawn(
    process.execPath,
    [COMMAND, 'dev', ...flags, ...jobs, '--config', join(dir, 'langgraph.json')],
    // In its own process group, so that its children end with it.
    { detached: true, stdio: 'ignore' },
  );
  const exited = once(child, 'exit');
  const url = `http://127.0.0.1:${port}`;
  const group = child.pid ?? 0;
  const close = async () => {
    process.kill(-group, 'SIGKILL');
    await exited;
    await rm(dir, { recursive: true, force: true });
  };
  try {
    await untilAnswering(url);
  } catch (error) {
    await close();
    throw error;
  }
  return { url, group, close };
}

/** Waits until a server answers `GET /ok`. */
export async function untilAnswering(url: string): Promise<void> {
  for (const end = Date.now() + START_MS; Date.now() < end;) {
    const ok = await fetch(`${url}/ok`).then(
      (response) => response.ok,
      () => false,
    );
    if (ok) return;
    await delay(200);
  }
  throw new Error(`Nothing answers at ${url}.`);
}
