/**
 * Kills every process of a group at once, with SIGKILL. A group that is gone already is what was wanted.
 *
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
