import { type ChildProcess, spawn } from 'node:child_process';

/** What is started in a process group of its own. */
export interface GroupOptions {
  readonly cwd: string;
  /** All of its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Its stdin: nothing at all, or a pipe that closes when this process ends. */
  readonly stdin: 'ignore' | 'pipe';
  /** When this process ends without having ended the group, how long it may go on, in whole seconds. */
  readonly outliveSeconds: number;
}

/**
 * Runs a program beside a watcher that kills the whole group when descriptor 3 closes. Its other end is held here,
 * so the group ends with this process even when that is killed, and even when the program is too busy to notice.
 */
const WATCHED = '(read -r _ <&3; [ "$0" = 0 ] || sleep "$0"; kill -KILL 0) >/dev/null 2>&1 & exec "$@" 3<&-';

/**
 * Starts a program as the leader of a process group of its own: its pid is the group's id, for {@link killGroup}.
 * A program that is not there exits with 127. The directory has to be there.
 */
export function spawnGroup(command: readonly [string, ...string[]], options: GroupOptions): ChildProcess {
  const child = spawn('/bin/sh', ['-c', WATCHED, String(options.outliveSeconds), ...command], {
    cwd: options.cwd,
    env: options.env,
    detached: true,
    stdio: [options.stdin, 'pipe', 'pipe', 'pipe'],
  });
  // Nothing is ever written to these: the only error they have is that the group has gone, which its exit tells.
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
