import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

import { beforeEach, describe, expect, it, vi } from 'vitest';

import { lockHome } from '../../src/store/homeLock.ts';
import { useFolders } from '../../../../test/support/temporaryFolder.ts';

const home = useFolders();
let path: string;

beforeEach(() => {
  path = join(home(), 'platform.lock');
});

/** The start time of a process, in a lock's form; only on Linux. */
async function startOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (stat === undefined) return '';
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
  return `${boot.trim()}:${stat.split(') ')[1]?.split(' ')[19]}`;
}

const leave = (holder: unknown): Promise<void> => writeFile(path, JSON.stringify(holder));
const IN_USE = { code: 'SLIPWAY_HOME_IN_USE' };

describe('the lock of a home', () => {
  it('is held by one process at a time, and free after its release', async () => {
    const lock = await lockHome(home(), 'platform');
    await expect(lockHome(home(), 'platform')).rejects.toMatchObject({ ...IN_USE, place: path });
    await lock.release();
    await (await lockHome(home(), 'platform')).release();
    expect(await readdir(home())).toEqual([]);
  });

  it('is taken by exactly one of many concurrent attempts, also over a stale one', async () => {
    await leave({ pid: 2 ** 22 - 1, started: 'x', host: hostname() });
    const tries = await Promise.allSettled(Array.from({ length: 20 }, () => lockHome(home(), 'platform')));
    const taken = tries.filter((each) => each.status === 'fulfilled');
    expect(taken).toHaveLength(1);
    expect(await readdir(home())).toEqual(['platform.lock']);
    await taken[0]?.value.release();
  });

  it('of a killed process is taken over', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    await once(child, 'spawn');
    await leave({ pid: child.pid, started: await startOf(child.pid!), host: hostname() });
    await expect(lockHome(home(), 'platform')).rejects.toMatchObject(IN_USE);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await (await lockHome(home(), 'platform')).release();
  });

  it.runIf(process.platform === 'linux')(
    'of an ended process is taken over, although its parent has not reaped it',
    async () => {
      // `sleep` replaces the shell and does not know the child. The shell itself might reap it.
      const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'], {
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const [line] = (await once(parent.stdout, 'data')) as [Buffer];
      const pid = Number(line.toString());
      const waitForStat = (of: number, part: string) =>
        vi.waitFor(async () => expect(await readFile(`/proc/${of}/stat`, 'utf8')).toContain(part), 20_000);
      await waitForStat(parent.pid!, '(sleep)');
      process.kill(pid, 'SIGKILL');
      await waitForStat(pid, ') Z ');
      await leave({ pid, started: await startOf(pid), host: hostname() });
      await (await lockHome(home(), 'platform')).release();
      parent.kill('SIGKILL');
    },
  );

  it('of a reused process id is taken over', async () => {
    await leave({ pid: process.ppid, started: 'an earlier boot:1', host: hostname() });
    await (await lockHome(home(), 'platform')).release();
  });

  it('of another machine is taken over only after a long silence', async () => {
    await leave({ pid: 1, started: 'x', host: 'another-machine' });
    await expect(lockHome(home(), 'platform')).rejects.toMatchObject(IN_USE);
    const longAgo = new Date(Date.now() - 60_000);
    await utimes(path, longAgo, longAgo);
    await (await lockHome(home(), 'platform')).release();
  });

  it('that a full disk truncated belongs to no process', async () => {
    await writeFile(path, '{"pi');
    await (await lockHome(home(), 'platform')).release();
  });

  it('is separate for another name', async () => {
    const locks = await Promise.all(['platform', 'postgres'].map((name) => lockHome(home(), name)));
    for (const lock of locks) await lock.release();
  });
});
