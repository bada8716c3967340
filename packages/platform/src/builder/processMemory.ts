import { readdir, readFile } from 'node:fs/promises';

/** Whether this machine tells what processes hold in memory: Linux does, through `/proc`. */
export const TELLS_MEMORY = process.platform === 'linux';

/**
 * What the processes of a session hold in memory together, in bytes: what they have allocated and shared memory, not
 * the programs and files that are mapped, which the machine has only once however often they run. A process that left
 * its group is counted as long as it stays in the session. Zero where nothing of it runs.
 *
 * @param session - the pid of the process that leads it: `spawnGroup` starts such a one.
 */
export async function memoryOfSession(session: number): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const held = await Promise.all(
    pids.map(async (pid) =>
      sessionIn(await read(pid, 'stat')) === session ? memoryIn(await read(pid, 'status')) : 0,
    ),
  );
  return held.reduce((sum, bytes) => sum + bytes, 0);
}

/** The session in `/proc/PID/stat`: the fourth field after the name, which may hold anything, blanks and `)` too. */
function sessionIn(stat: string): number {
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3]);
}

function memoryIn(status: string): number {
  const found = status.matchAll(/^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm);
  return [...found].reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1024, 0);
}

/** A process that has ended meanwhile has no files any more: it holds nothing. */
async function read(pid: string, file: string): Promise<string> {
  return readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
}
