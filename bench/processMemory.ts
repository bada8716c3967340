import { readFileSync } from 'node:fs';

/** The resident memory of a process, in bytes; `undefined` where the system does not tell (`/proc` is Linux's). */
export function memoryOf(pid: number): number | undefined {
  try {
    const match = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return match === null ? undefined : Number(match[1]) * 1_024;
  } catch {
    return undefined;
  }
}
