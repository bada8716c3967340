import { execFile } from 'node:child_process';
import { setTimeout as after } from 'node:timers/promises';
import { promisify } from 'node:util';

import type { Stack } from '../stack.ts';
import type { Random } from './random.ts';
import type { Tally } from './tally.ts';

const run = promisify(execFile);

type Victim = 'worker' | 'platform' | 'agent' | 'Temporal';

const VICTIMS: readonly (readonly [number, Victim])[] = [
  [4, 'worker'],
  [3, 'platform'],
  [3, 'agent'],
  [2, 'Temporal'],
];

/** How many requests pass between two kills. Counting requests makes slow and fast machines equal. */
const PEACE_REQUESTS = [15, 80] as const;
/** How long a killed process stays dead, in milliseconds. */
const DEAD_MS = [0, 1_500] as const;
const LOOK_AGAIN_MS = 50;

/** Kills one process after the other with `kill -9`, and starts it again, until `end` is called. */
export class Kills {
  readonly #stack: Stack;
  readonly #random: Random;
  readonly #tally: Tally;
  readonly #progress: (line: string) => void;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  constructor(stack: Stack, random: Random, tally: Tally, progress: (line: string) => void) {
    this.#stack = stack;
    this.#random = random;
    this.#tally = tally;
    this.#progress = progress;
    this.#ended = this.#go();
  }

  /** Resolves once everything runs again. */
  async end(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  async #go(): Promise<void> {
    const isOver = (): boolean => this.#stop.signal.aborted;
    for (let turn = 1; !isOver(); turn++) {
      const { log } = this.#stack.proxy;
      const next = log.length + this.#random.between(...PEACE_REQUESTS, `kill ${turn} after`);
      while (log.length < next && !isOver()) await after(LOOK_AGAIN_MS);
      if (isOver()) return;
      const dead = this.#random.between(...DEAD_MS, `kill ${turn} dead for`);
      await this.#kill(
        this.#random.pick(VICTIMS, `kill ${turn}`),
        dead,
        this.#random.fraction(`kill ${turn} which`),
      );
    }
  }

  async #kill(victim: Victim, deadMs: number, which: number): Promise<void> {
    this.#progress(`kill -9: ${victim}`);
    switch (victim) {
      case 'worker':
        await this.#stack.worker.kill();
        await after(deadMs);
        await this.#stack.startWorker();
        break;
      case 'platform':
        await this.#stack.platform.killAlone();
        await after(deadMs);
        await this.#stack.startPlatform();
        break;
      case 'Temporal':
        await this.#stack.temporal.kill();
        await after(deadMs);
        await this.#stack.startTemporal();
        break;
      case 'agent': {
        // The platform itself restarts it.
        const agents = await agentsOf(this.#stack.platform.child.pid ?? 0);
        const pid = agents[Math.floor(which * agents.length)];
        if (pid === undefined) return;
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // It has just ended.
          return;
        }
      }
    }
    this.#tally.add(`kill -9: ${victim}`);
  }
}

/** The pids of the processes that the platform started. */
async function agentsOf(platform: number): Promise<readonly number[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=,args=']);
  return stdout.split('\n').flatMap((line) => {
    const [, pid, parent, args] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    const isAgent = Number(parent) === platform && args?.includes(' agent ') === true;
    return isAgent ? [Number(pid)] : [];
  });
}

/** The processes whose command line contains a text, such as the folder of a stack: one line of `ps` each. */
export async function processesWith(text: string): Promise<readonly string[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=,args='], { maxBuffer: 16 * 1024 * 1024 });
  return stdout.split('\n').filter((line) => line.includes(text));
}
