import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Whether a process runs. One that has ended and was not collected by its parent yet does not. */
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
    // No /proc on this system, or gone in between: what kill said counts.
    return process.platform !== 'linux';
  }
}

/** Waits until a condition holds; fails with what was waited for. */
export async function until(what: string, condition: () => boolean, withinMs = 60_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`Waited ${String(withinMs)} ms in vain: ${what}`);
    await sleep(10);
  }
}
