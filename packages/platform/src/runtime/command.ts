import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';

import { lastOutput, readLines } from './lines.ts';

/** A program, its arguments and its surroundings. */
interface Command {
  readonly command: readonly [string, ...string[]];
  readonly cwd: string;
  /** All of its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** What it reads at its stdin. Default: nothing. */
  readonly input?: string;
  /** Killed after so many ms; `Infinity` is without end. */
  readonly timeoutMs: number;
  /** Kills it. */
  readonly signal: AbortSignal;
  /** Takes each line of both its outputs; `cut` says that the line's end was dropped. */
  readonly onLine: (line: string, cut: boolean, from: 'stdout' | 'stderr') => void;
  /** Characters of a line that are read; the rest of it is dropped. */
  readonly lineChars: number;
  /**
   * Watches the command while it runs, by the pid that leads its group and session, and calls `stop` with the reason
   * to kill it. What it returns ends the watch. Default: nothing does.
   */
  readonly watch?: (pid: number, stop: (why: string) => void) => () => void;
}

/** How a command ended. A program that is not there exits with 127. */
export type CommandEnd =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'killed'; readonly signal: string }
  | { readonly kind: 'timed_out' }
  /** Its watch stopped it. `why` completes "it …". */
  | { readonly kind: 'stopped'; readonly why: string }
  | { readonly kind: 'aborted' };

/**
 * Runs a command in a process group of its own. When it ends, by itself or not, the whole group is killed: nothing that
 * it started stays behind.
 * @throws what `spawn` reports when there is no such directory.
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
  for (const from of ['stdout', 'stderr'] as const) {
    readLines(child[from], options.lineChars, (line, cut) => options.onLine(line, cut, from));
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
    const end = await endOf(child);
    // The watcher is in the group still, so its id cannot belong to another by now.
    if (child.pid !== undefined) killGroup(child.pid);
    await lastOutput([child.stdout, child.stderr]);
    child.stdout.destroy();
    child.stderr.destroy();
    return stopped ?? end;
  } finally {
    clearTimeout(timer || undefined);
    endWatch?.();
    options.signal.removeEventListener('abort', onAbort);
  }
}

function endOf(child: ChildProcess): Promise<CommandEnd> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      resolve(code === null ? { kind: 'killed', signal: signal ?? 'a signal' } : { kind: 'exited', code }),
    );
  });
}

/** A command as a person would type it, and its surroundings. */
export interface ShellCommand extends Omit<Command, 'command'> {
  readonly command: string;
}

/** The agents that serve and the platform go first: what builds takes the processors that they leave. */
const YIELDING = ['nice', '-n', '5'] as const;

/** Runs a shell command, with less priority than this process has: see {@link runCommand}. */
export function runShellCommand(options: ShellCommand): Promise<CommandEnd> {
  return runCommand({ ...options, command: [...YIELDING, '/bin/sh', '-c', options.command] });
}

/** What is started in a process group of its own. */
interface GroupOptions {
  readonly cwd: string;
  /** All of its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Its stdin: nothing at all, or a pipe that closes when this process ends. */
  readonly stdin: 'ignore' | 'pipe';
  /** When this process ends without having ended the group, how long it may go on, in whole seconds. */
  readonly outliveSeconds: number;
}

/** The process that leads a group. Both its outputs are pipes. */
export type GroupLeader = ChildProcess & { readonly stdout: Readable; readonly stderr: Readable };

/**
 * Runs a program beside a watcher that kills the whole group when descriptor 3 closes. Its other end is held here,
 * so the group ends with this process even when that is killed, and even when the program is too busy to notice.
 */
const WATCHED = '(read -r _ <&3; [ "$0" = 0 ] || sleep "$0"; kill -KILL 0) >/dev/null 2>&1 & exec "$@" 3<&-';

/**
 * Starts a program as the leader of a process group of its own: its pid is the group's id, for {@link killGroup}.
 * A program that is not there exits with 127. The directory has to be there.
 */
export function spawnGroup(command: readonly [string, ...string[]], options: GroupOptions): GroupLeader {
  const child = spawn('/bin/sh', ['-c', WATCHED, String(options.outliveSeconds), ...command], {
    cwd: options.cwd,
    env: options.env,
    detached: true,
    stdio: [options.stdin, 'pipe', 'pipe', 'pipe'],
  }) as GroupLeader;
  // Nothing is ever written to these: the only error they have is that the group has gone, which its exit shows.
  child.stdin?.on('error', () => undefined);
  child.stdio[3]?.on('error', () => undefined);
  return child;
}

/**
 * Kills every process of a group at once, with SIGKILL. A group that is gone already is what was wanted.
 * @param leader - the pid of the process that was spawned `detached`, which is the group's id.
 */
export function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    // EPERM is macOS's answer for a group that holds only zombies.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}
