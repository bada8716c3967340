import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Process } from '../processes.ts';
import type { Stack } from '../stack.ts';
import type { Victim } from './cells.ts';
import type { Ground } from './ground.ts';

/** The command that requested the release. A death may replace it. */
export interface Asking {
  command: Process;
  /** Sends the same request again. */
  again(): Process;
}

/** Sends `kill -9`; returns a function that restarts the victim. */
export async function kill(
  victim: Victim,
  { stack, ground, asking }: { readonly stack: Stack; readonly ground: Ground; readonly asking: Asking },
): Promise<() => Promise<void>> {
  switch (victim) {
    case 'worker':
      await stack.worker.kill();
      return () => stack.startWorker();
    case 'platform':
      await stack.platform.killAlone();
      return () => stack.startPlatform();
    case 'temporal':
      await stack.temporal.kill();
      return () => stack.startTemporal();
    case 'agent':
      process.kill(await servingAgent(stack, ground), 'SIGKILL');
      // The platform must restart it itself.
      return () => Promise.resolve();
    case 'cli':
      await asking.command.kill();
      return async () => {
        asking.command = asking.again();
        await asking.command.line(({ event }) => event === 'submitted');
      };
  }
}

/** The agent processes of a deployment on this machine. */
export async function agentProcesses(
  stack: Stack,
  deploymentId: string,
): Promise<readonly { readonly pid: number; readonly revisionId: string }[]> {
  const builds = `${join(stack.platformHome, 'builds', deploymentId)}/`;
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const [program, ...args] = (await commandLine(pid)).split('\0');
      const folder = args.find((arg) => arg.startsWith(builds));
      // The shell that supervises an agent has its path in the command line, too.
      if (folder === undefined || program !== process.execPath) return [];
      return [{ pid: Number(pid), revisionId: folder.slice(builds.length).split('/')[0] ?? '' }];
    }),
  );
  return found.flat();
}

async function servingAgent(stack: Stack, ground: Ground): Promise<number> {
  const { id, active_revision_id: active } = await ground.seen.deployment();
  const serving = (await agentProcesses(stack, id)).find(({ revisionId }) => revisionId === active);
  if (serving === undefined) throw new Error(`no agent of revision ${active ?? 'none'} runs`);
  return serving.pid;
}

/** Empty for a process that has ended meanwhile. */
async function commandLine(pid: string): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/cmdline`, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return '';
    throw error;
  }
}
