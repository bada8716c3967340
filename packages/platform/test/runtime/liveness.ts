import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Whether a process runs. A zombie does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
    return !/^\d+ \(.*\) Z/s.test(stat);
  } catch {
    // There is no /proc on this system, or the process has just ended: the result of kill counts.
    return process.platform !== 'linux';
  }
}

/** Waits until a condition holds; fails with a description of it. */
export async function until(what: string, condition: () => boolean, withinMs = 60_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`Waited ${String(withinMs)} ms in vain: ${what}`);
    await sleep(10);
  }
}

export const untilEnded = (pid: number): Promise<void> =>
  until(`the end of process ${String(pid)}`, () => !isRunning(pid));
