import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

const GUARD = fileURLToPath(new URL('../../../src/temporal/server/serverGuard.ts', import.meta.url));
const SERVER = 'process.stdout.write(process.pid + "\\n"); setInterval(() => {}, 1000);';

describe('the guard of a server', () => {
  it('ends the server when its starter is gone', async () => {
    const guard = spawn(process.execPath, ['--import', 'tsx', GUARD, process.execPath, '-e', SERVER], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const [line] = (await once(createInterface({ input: guard.stdout }), 'line')) as [string];
    const pid = Number(line);
    expect(isAlive(pid)).toBe(true);
    // What the operating system does to a pipe when the process at its other end is killed.
    guard.stdin.destroy();
    await once(guard, 'exit');
    expect(isAlive(pid)).toBe(false);
  });

  it('exits with the code of a server that ends by itself', async () => {
    const guard = spawn(
      process.execPath,
      ['--import', 'tsx', GUARD, process.execPath, '-e', 'process.exit(7)'],
      { stdio: ['pipe', 'ignore', 'inherit'] },
    );
    expect(await once(guard, 'exit')).toEqual([7, null]);
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}
