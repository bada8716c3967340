import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { constants } from 'node:os';

import { openProxyPort, SOCKETS } from './containedNetwork.ts';

/*
 * The program of a container that runs one command of a build: opens the way to the platform's proxy, and ends as the
 * command ends. It is the container's first process, so everything that the command started ends with it.
 *
 * Arguments: the folder of the socket, the shell command.
 */
const [folder = SOCKETS.folder, command = ''] = process.argv.slice(2);
// The first process of a container ignores signals without a handler.
process.once('SIGTERM', () => process.exit(128 + constants.signals.SIGTERM));
await openProxyPort(folder);
const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'inherit', 'inherit'] });
const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
if (code !== 0 && (await hasRunOutOfMemory()))
  console.error(
    'A process took more memory than the container has, and was ended: that is the limit of this platform (SLIPWAY_BUILD_MEMORY_MB).',
  );
process.exit(code ?? 128 + constants.signals[signal ?? 'SIGKILL']);

/** Whether the kernel ended a process at the container's limit. The files of control groups of version 2 and 1. */
async function hasRunOutOfMemory(): Promise<boolean> {
  const files = ['/sys/fs/cgroup/memory.events', '/sys/fs/cgroup/memory/memory.oom_control'];
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')));
  return texts.some((text) => /^oom_kill [1-9]/m.test(text));
}
