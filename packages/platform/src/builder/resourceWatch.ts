import { readdir, readFile } from 'node:fs/promises';

import { errorText } from '@slipway/contract/codedError';

import { pause } from '../pause.ts';
import { buildEnvironment } from '../runtime/childEnvironment.ts';
import { runShellCommand } from '../runtime/command.ts';
import { BUILD_LIMIT_SETTINGS, type BuildLimits } from './buildLimits.ts';

const MEMORY_EVERY_MS = 250;
const WORKSPACE_EVERY_MS = 2_000;
/** Measuring the workspace takes at most 1 / WORKSPACE_SHARE of the time, however large it is. */
const WORKSPACE_SHARE = 10;

/** What to watch during a command of a build. */
export interface WatchedBuild {
  readonly workspace: string;
  /** Its files count like those of the workspace. */
  readonly scratch: string;
  readonly limits: BuildLimits;
}

/**
 * Watches the resources of a running command, and reports the first exceeded limit, once. It samples, so it misses a
 * peak between two samples. If the machine does not report the memory of processes, only the workspace is watched.
 * @param pid - the leader of the command's session; undefined if its memory is limited otherwise.
 * @param onExceeded - gets the exceeded limit, in words that complete "it …".
 * @returns the function that ends the watch.
 */
export function watchResources(
  pid: number | undefined,
  build: WatchedBuild,
  onExceeded: (reason: string) => void,
): () => void {
  const stopped = new AbortController();
  const report = (reason: string | undefined) => {
    if (reason === undefined || stopped.signal.aborted) return;
    stopped.abort();
    onExceeded(reason);
  };
  const watches = [watchWorkspace(build, stopped.signal, report)];
  if (CAN_READ_MEMORY && pid !== undefined)
    watches.push(watchMemory(pid, build.limits, stopped.signal, report));
  Promise.all(watches).catch((error: unknown) => {
    // A command whose limits cannot be enforced is ended.
    report(`was ended, because what it takes could not be measured (${errorText(error)})`);
  });
  return () => stopped.abort();
}

/** The exceeded limit of a workspace, in words that complete "it …"; undefined if there is none. */
export async function exceededWorkspaceLimit(
  build: WatchedBuild,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { limits } = build;
  const use = await folderUse(build, signal);
  if (use === undefined) return undefined;
  const filled = 'filled its workspace with more than';
  if (use.bytes > limits.workspaceBytes)
    return `${filled} ${inMegabytes(limits.workspaceBytes)}: ${describeLimit('workspaceBytes')}`;
  if (use.files > limits.workspaceFiles)
    return `${filled} ${limits.workspaceFiles} files: ${describeLimit('workspaceFiles')}`;
  return undefined;
}

async function watchMemory(
  pid: number,
  { memoryBytes }: BuildLimits,
  signal: AbortSignal,
  report: (reason: string | undefined) => void,
): Promise<void> {
  while (await pause(MEMORY_EVERY_MS, signal)) {
    const held = await memoryOfSession(pid);
    if (held > memoryBytes)
      report(
        `took more than ${inMegabytes(memoryBytes)} of memory and was ended: ${describeLimit('memoryBytes')}`,
      );
  }
}

async function watchWorkspace(
  build: WatchedBuild,
  signal: AbortSignal,
  report: (reason: string | undefined) => void,
): Promise<void> {
  let wait = WORKSPACE_EVERY_MS;
  while (await pause(wait, signal)) {
    const since = performance.now();
    report(await exceededWorkspaceLimit(build, signal));
    wait = Math.max(WORKSPACE_EVERY_MS, (performance.now() - since) * WORKSPACE_SHARE);
  }
}

/** The name of a limit in a reason, so that the operator knows which setting to change. */
export function describeLimit(limit: keyof typeof BUILD_LIMIT_SETTINGS): string {
  return `that is the limit of this platform (${BUILD_LIMIT_SETTINGS[limit].name})`;
}

function inMegabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 ** 2)} MB`;
}

/**
 * Measures folders in two programs, because this process answers meanwhile: the bytes on disk (hard links counted
 * once), and the number of files, directories and links. Undefined: aborted, or too slow.
 */
async function folderUse(
  { workspace, scratch, limits }: WatchedBuild,
  signal: AbortSignal,
): Promise<{ bytes: number; files: number } | undefined> {
  const lines: string[] = [];
  const end = await runShellCommand({
    // Files that vanish during the count are no errors.
    command: 'du -skc . "$SCRATCH" 2>/dev/null | tail -n 1 | cut -f1; find . "$SCRATCH" 2>/dev/null | wc -l',
    cwd: workspace,
    env: { ...buildEnvironment(), SCRATCH: scratch },
    timeoutMs: limits.commandTimeoutMs,
    signal,
    onLine: (line) => void lines.push(line.trim()),
    lineChars: 100,
  });
  const [kilobytes, files] = lines.map(Number);
  if (end.kind !== 'exited' || kilobytes === undefined || files === undefined) return undefined;
  return { bytes: kilobytes * 1024, files };
}

/** Whether this machine reports the memory of processes: Linux does, through `/proc`. */
export const CAN_READ_MEMORY = process.platform === 'linux';

/**
 * The memory of a session's processes together, in bytes: allocated and shared memory, without mapped programs and
 * files, which the machine holds only once. A process that left its group still counts while it is in the session.
 * Zero if none of them runs.
 * @param session - the pid of the session's leader: `spawnGroup` starts one.
 */
async function memoryOfSession(session: number): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const held = await Promise.all(
    pids.map(async (pid) =>
      parseSession(await read(pid, 'stat')) === session ? parseMemory(await read(pid, 'status')) : 0,
    ),
  );
  return held.reduce((sum, bytes) => sum + bytes, 0);
}

/** The session in `/proc/PID/stat`: the fourth field after the name, which may contain blanks and `)`. */
function parseSession(stat: string): number {
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3]);
}

function parseMemory(status: string): number {
  const found = status.matchAll(/^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm);
  return [...found].reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1024, 0);
}

/** A process that has ended has no files, and no memory. */
async function read(pid: string, file: string): Promise<string> {
  return readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
}
