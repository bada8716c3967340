import { readFileSync } from 'node:fs';

/**
 * Whether a process of that id lives on this machine, whoever it belongs to. One that has ended does not, although its
 * number is kept until whoever started it has asked how it ended: in a container that may be never.
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Somebody else's process of that number lives all the same.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  return !ENDED.has(stateOf(pid));
}

/** Letters for the states of a process that runs nothing any more. */
const ENDED: ReadonlySet<string> = new Set(['Z', 'X']);

/** The letter of a process's state; empty where the system does not tell, as only Linux does. */
function stateOf(pid: number): string {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // It follows the name, which stands in parentheses and may hold anything.
    return line.charAt(line.lastIndexOf(')') + 2);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return '';
    throw error;
  }
}
