import { setTimeout as sleep } from 'node:timers/promises';
import { BUILD_LIMIT_SETTINGS, type BuildLimits } from './buildLimits.ts';
import { memoryOfSession, TELLS_MEMORY } from './processMemory.ts';
import { type DirectoryUse, directoryUse } from './workspaceUse.ts';

const MEMORY_EVERY_MS = 250;
const WORKSPACE_EVERY_MS = 2_000;
/** Looking at the workspace takes at most this part of the time, however large it is. */
const WORKSPACE_SHARE = 10;

/** What a command of a build is watched for. */
export interface WatchedBuild {
  readonly workspace: string;
  readonly env: Readonly<Record<string, string>>;
  readonly limits: BuildLimits;
}

/**
 * Watches what a running command takes, and reports the first limit that it goes beyond, once. It measures again and
 * again, and is no wall: what is taken and given back between two looks goes unseen. Where the machine does not tell
 * what processes hold in memory, only the workspace is watched.
 *
 * @param pid - the leader of the command's session.
 * @param onOver - told, in words that complete "it …", what was too much.
 * @returns what ends the watch.
 */
export function watchResources(pid: number, build: WatchedBuild, onOver: (why: string) => void): () => void {
  const over = new AbortController();
  const report = (why: string | undefined) => {
    if (why === undefined || over.signal.aborted) return;
    over.abort();
    onOver(why);
  };
  const watches = [watchWorkspace(build, over.signal, report)];
  if (TELLS_MEMORY) watches.push(watchMemory(pid, build.limits, over.signal, report));
  Promise.all(watches).catch((error: unknown) => {
    // A command that cannot be held to its limits does not go on.
    report(`was ended, because what it takes could not be measured (${messageOf(error)})`);
  });
  return () => over.abort();
}

/** Which limit a workspace is beyond, in words that complete "it …"; undefined where it keeps to them. */
export async function workspaceBeyond(build: WatchedBuild, signal: AbortSignal): Promise<string | undefined> {
  const { workspace, env, limits } = build;
  const use = await directoryUse(workspace, { env, timeoutMs: limits.commandTimeoutMs, signal });
  return use === undefined ? undefined : beyond(use, limits);
}

async function watchMemory(
  pid: number,
  { memoryBytes }: BuildLimits,
  signal: AbortSignal,
  report: (why: string | undefined) => void,
): Promise<void> {
  while (await pause(MEMORY_EVERY_MS, signal)) {
    const held = await memoryOfSession(pid);
    if (held > memoryBytes)
      report(`took more than ${inMegabytes(memoryBytes)} of memory and was ended: ${limitOf('memoryBytes')}`);
  }
}

async function watchWorkspace(
  build: WatchedBuild,
  signal: AbortSignal,
  report: (why: string | undefined) => void,
): Promise<void> {
  let wait = WORKSPACE_EVERY_MS;
  while (await pause(wait, signal)) {
    const since = performance.now();
    report(await workspaceBeyond(build, signal));
    wait = Math.max(WORKSPACE_EVERY_MS, (performance.now() - since) * WORKSPACE_SHARE);
  }
}

function beyond({ bytes, files }: DirectoryUse, limits: BuildLimits): string | undefined {
  if (bytes > limits.workspaceBytes) {
    const most = inMegabytes(limits.workspaceBytes);
    return `filled its workspace with more than ${most}: ${limitOf('workspaceBytes')}`;
  }
  if (files > limits.workspaceFiles) {
    const most = limits.workspaceFiles;
    return `filled its workspace with more than ${most} files: ${limitOf('workspaceFiles')}`;
  }
  return undefined;
}

/** How a reason names a limit: so that whoever runs the platform knows what to turn. */
export function limitOf(limit: keyof typeof BUILD_LIMIT_SETTINGS): string {
  return `that is the limit of this platform (${BUILD_LIMIT_SETTINGS[limit].name})`;
}

function inMegabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 ** 2)} MB`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Waits; false when that was called off. */
async function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  return sleep(ms, true, { signal, ref: false }).catch(() => false);
}
