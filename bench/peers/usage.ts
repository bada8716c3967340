import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Resource usage of processes: CPU and bytes since their start, current memory. */
export interface Usage {
  /** User and system time. */
  readonly cpuMs: number;
  /** Resident. A page that several of them share is counted once. */
  readonly memoryBytes: number;
  /** Bytes passed to the storage layer, on disk or not. */
  readonly writtenBytes: number;
}

/** Resource usage of a system's worker and servers. */
export interface SystemUsage {
  readonly worker: Usage;
  readonly server: Usage;
}

const NONE: Usage = { cpuMs: 0, memoryBytes: 0, writtenBytes: 0 };
/** Linux counts CPU time in ticks of 10 ms. */
const TICK_MS = 10;

/**
 * Reads a system's resource usage from /proc.
 * @param host - the process that started everything. It is the client, and is not counted.
 * @param worker - the worker's process. All other descendants of the host are servers, except guards written in Node.
 */
export function usageOf(host: number, worker: number): SystemUsage {
  const parents = parentsOfAll();
  const inWorker = descendants(worker, parents);
  const inHost = [...descendants(host, parents)].filter((pid) => pid !== host && !inWorker.has(pid));
  return {
    worker: sum([...inWorker].filter((pid) => !isCompiler(pid))),
    server: sum(inHost.filter((pid) => !isCompiler(pid) && executable(pid) !== process.execPath)),
  };
}

/** The usage between two measurements; the memory is the later one's. */
export function usedBetween(before: Usage, after: Usage): Usage {
  return {
    cpuMs: after.cpuMs - before.cpuMs,
    memoryBytes: after.memoryBytes,
    writtenBytes: after.writtenBytes - before.writtenBytes,
  };
}

function sum(pids: readonly number[]): Usage {
  return pids.map(usage).reduce(
    (left, right) => ({
      cpuMs: left.cpuMs + right.cpuMs,
      memoryBytes: left.memoryBytes + right.memoryBytes,
      writtenBytes: left.writtenBytes + right.writtenBytes,
    }),
    NONE,
  );
}

/** The usage of one process and its ended children. Zero for a process that has just ended. */
function usage(pid: number): Usage {
  try {
    const [utime = 0, stime = 0, cutime = 0, cstime = 0] = statFields(pid).slice(11, 15).map(Number);
    return {
      cpuMs: (utime + stime + cutime + cstime) * TICK_MS,
      memoryBytes: field(`/proc/${pid}/smaps_rollup`, 'Pss') * 1_024,
      writtenBytes: field(`/proc/${pid}/io`, 'write_bytes'),
    };
  } catch (error) {
    if (isGone(error)) return NONE;
    throw error;
  }
}

/** The fields of /proc/PID/stat from the third on. The second, a name in parentheses, may contain spaces. */
function statFields(pid: number): string[] {
  return readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
}

function field(file: string, name: string): number {
  const found = new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync(file, 'utf8'));
  return Number(found?.[1] ?? 0);
}

function parentsOfAll(): ReadonlyMap<number, number> {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      parents.set(Number(name), Number(statFields(Number(name))[1]));
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }
  return parents;
}

function descendants(root: number, parents: ReadonlyMap<number, number>): ReadonlySet<number> {
  const found = new Set([root]);
  let size = 0;
  while (found.size > size) {
    size = found.size;
    for (const [pid, parent] of parents) if (found.has(parent)) found.add(pid);
  }
  return found;
}

/** Whether it is the compiler process that each script has because it runs from TypeScript sources. */
function isCompiler(pid: number): boolean {
  return executable(pid)?.endsWith('/esbuild') === true;
}

function executable(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

function isGone(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ESRCH';
}
