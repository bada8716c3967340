import { readdirSync, readFileSync } from 'node:fs';

/** The resident memory of a process, in bytes; `undefined` where the system does not tell (`/proc` is Linux's). */
export function memoryOf(pid: number): number | undefined {
  try {
    const match = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return match === null ? undefined : Number(match[1]) * 1_024;
  } catch {
    return undefined;
  }
}

/** The same of all processes of a process group, together. */
export function memoryOfGroup(group: number): number | undefined {
  try {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && groupOf(name) === group);
    return pids.reduce((sum, pid) => sum + (memoryOf(Number(pid)) ?? 0), 0);
  } catch {
    return undefined;
  }
}

function groupOf(pid: string): number | undefined {
  try {
    // The name in parentheses may hold anything; state, parent and group follow it.
    const [, , group] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return Number(group);
  } catch {
    return undefined;
  }
}
