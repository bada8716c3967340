import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { openEmbeddedPostgres } from '../packages/platform/src/store/embeddedPostgres.ts';
import { FROM_SOURCE } from '../test/support/fromSource.ts';

const AGENT = fileURLToPath(new URL('runsAgent', import.meta.url));
const COMMAND = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url));

/** An agent server for `bench/runsAgent`, in its own process. */
interface RunsAgent {
  readonly url: string;
  readonly pid: number;
  close(): Promise<void>;
}

/** Starts one. Its embedded database runs in this process, so that it is not part of the server's measurements. */
export async function startRunsAgent(): Promise<RunsAgent> {
  const home = await mkdtemp(join(tmpdir(), 'slipway-bench-'));
  const database = await openEmbeddedPostgres(home, (error) => process.stderr.write(`${error.message}\n`));
  const child = spawn(process.execPath, [...FROM_SOURCE, COMMAND, 'agent', AGENT, '--port', '0', '--json'], {
    env: {
      ...process.env,
      SLIPWAY_AGENT_DATABASE_URL: database.connectionString,
      SLIPWAY_AGENT_DEPLOYMENT_ID: 'bench',
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return {
    url: (JSON.parse(line) as { url: string }).url,
    pid: child.pid ?? 0,
    close: async () => {
      child.kill('SIGTERM');
      await exited;
      await database.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** The resident memory of a process, in bytes; `undefined` without `/proc`, which only Linux has. */
export function memoryOf(pid: number): number | undefined {
  try {
    const match = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return match === null ? undefined : Number(match[1]) * 1_024;
  } catch {
    return undefined;
  }
}

/** The resident memory of all processes of a process group, in bytes. */
export function memoryOfGroup(group: number): number | undefined {
  try {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && groupOf(name) === group);
    return pids.reduce((sum, pid) => sum + (memoryOf(Number(pid)) ?? 0), 0);
  } catch {
    return undefined;
  }
}

function groupOf(pid: string): number | undefined {
  try {
    // The name in parentheses may contain anything; state, parent and group follow it.
    const [, , group] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return Number(group);
  } catch {
    return undefined;
  }
}
