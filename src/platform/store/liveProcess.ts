/** Whether a process of that id lives on this machine, whoever it belongs to. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's process of that number lives all the same.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
