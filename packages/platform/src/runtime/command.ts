import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';

import { waitForOutputEnd, readLines } from './outputLines.ts';

interface Command {
  readonly command: readonly [string, ...string[]];
  readonly cwd: string;
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** The text for its stdin. Default: none. */
  readonly input?: string;
  /** The timeout in ms, after which it is killed; `Infinity` for none. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called for each line of stdout and stderr; `cut` if the line's end was dropped. */
  readonly onLine: (line: string, cut: boolean, from: 'stdout' | 'stderr') => void;
  /** How many characters of a line to read; the rest is dropped. */
  readonly lineChars: number;
  /**
   * Watches the running command by the pid of its group and session (undefined: in a container, which limits its
   * memory), and calls `stop` with a reason to kill it. Returns the function that ends the watch. Default: no watch.
   */
  readonly watch?: (pid: number | undefined, stop: (why: string) => void) => () => void;
}

/** How a command ended. A missing program exits with 127. */
export type CommandEnd =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'killed'; readonly signal: string }
  | { readonly kind: 'timed_out' }
  /** Its watch stopped it. `why` completes "it …". */
  | { readonly kind: 'stopped'; readonly why: string }
  | { readonly kind: 'aborted' };

/**
 * Runs a command in its own process group. When it ends, for any reason, the whole group is killed, so nothing that
 * it started keeps running.
 * @throws the error of `spawn` if the directory does not exist.
 */
export async function runCommand(options: Command): Promise<CommandEnd> {
  if (options.signal.aborted) return { kind: 'aborted' };
  const child = spawnGroup(options.command, {
    cwd: options.cwd,
    env: options.env,
    stdin: options.input === undefined ? 'ignore' : 'pipe',
    outliveSeconds: 0,
  });
  child.stdin?.end(options.input);
  for (const source of ['stdout', 'stderr'] as const) {
    readLines(child[source], options.lineChars, (line, cut) => options.onLine(line, cut, source));
  }
  let stopped: CommandEnd | undefined;
  const stop = (end: CommandEnd) => {
    stopped ??= end;
    if (child.pid !== undefined) killGroup(child.pid);
  };
  const onAbort = () => stop({ kind: 'aborted' });
  options.signal.addEventListener('abort', onAbort, { once: true });
  const { timeoutMs } = options;
  const timer = Number.isFinite(timeoutMs) && setTimeout(() => stop({ kind: 'timed_out' }), timeoutMs);
  const { pid } = child;
  const endWatch =
    pid === undefined ? undefined : options.watch?.(pid, (why) => stop({ kind: 'stopped', why }));
  try {
    const end = await waitForEnd(child);
    // The watcher is still in the group, so the group's id cannot belong to another one.
    if (child.pid !== undefined) killGroup(child.pid);
    await waitForOutputEnd([child.stdout, child.stderr]);
    child.stdout.destroy();
    child.stderr.destroy();
    return stopped ?? end;
  } finally {
    clearTimeout(timer || undefined);
    endWatch?.();
    options.signal.removeEventListener('abort', onAbort);
  }
}

function waitForEnd(child: ChildProcess): Promise<CommandEnd> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      resolve(code === null ? { kind: 'killed', signal: signal ?? 'a signal' } : { kind: 'exited', code }),
    );
  });
}

export interface ShellCommand extends Omit<Command, 'command'> {
  readonly command: string;
}

/** Where the commands of a source run. */
export interface Shell {
  /** The place in words; undefined for this machine. What is installed in one place may not work in another. */
  readonly place?: string;
  readonly env: Readonly<Record<string, string>>;
  /** The user who must own what its commands can write. Default: this process's. */
  readonly owner?: { readonly uid: number; readonly gid: number };
  /** @throws AgentStartError if the container engine fails. */
  readonly run: (command: ShellCommand) => Promise<CommandEnd>;
}

/** Agents and the platform take precedence: builds use the processors that these leave. */
const LOW_PRIORITY = ['nice', '-n', '5'] as const;

/** Runs a shell command with a lower priority than this process: see {@link runCommand}. */
export function runShellCommand(options: ShellCommand): Promise<CommandEnd> {
  return runCommand({ ...options, command: [...LOW_PRIORITY, '/bin/sh', '-c', options.command] });
}

interface GroupOptions {
  readonly cwd: string;
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Its stdin: none, or a pipe that closes when this process ends. */
  readonly stdin: 'ignore' | 'pipe';
  /** How long the group may outlive this process, in whole seconds. */
  readonly outliveSeconds: number;
}

/** The leading process of a group, with pipes for stdout and stderr. */
export type GroupLeader = ChildProcess & { readonly stdout: Readable; readonly stderr: Readable };

/**
 * Runs a program next to a watcher that kills the whole group when descriptor 3 closes. This process holds the other
 * end. So the group ends with it, even if this process is killed or the program is too busy to notice.
 */
const WATCHED_GROUP_SCRIPT =
  '(read -r _ <&3; [ "$0" = 0 ] || sleep "$0"; kill -KILL 0) >/dev/null 2>&1 & exec "$@" 3<&-';

/**
 * Starts a program as the leader of its own process group: its pid is the group's id, for {@link killGroup}. A
 * missing program exits with 127. The directory must exist.
 */
export function spawnGroup(command: readonly [string, ...string[]], options: GroupOptions): GroupLeader {
  const child = spawn('/bin/sh', ['-c', WATCHED_GROUP_SCRIPT, String(options.outliveSeconds), ...command], {
    cwd: options.cwd,
    env: options.env,
    detached: true,
    stdio: [options.stdin, 'pipe', 'pipe', 'pipe'],
  }) as GroupLeader;
  // Nothing is written to these. Their only error is that the group has ended, which its exit reports.
  child.stdin?.on('error', () => undefined);
  child.stdio[3]?.on('error', () => undefined);
  return child;
}

/**
 * Kills every process of a group at once, with SIGKILL. No error if the group has already ended.
 * @param leader - the pid of the process that was spawned `detached`, which is the group's id.
 */
export function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    // macOS returns EPERM for a group with only zombies.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}
