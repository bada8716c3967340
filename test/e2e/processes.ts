import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { lineProblem } from '../support/jsonLines.ts';
import { QUICK_START } from '../support/quickStart.ts';

const SLIPWAY = fileURLToPath(new URL('../../bin/slipway.js', import.meta.url));

/** All started processes; those still running are killed at the end of the test file. */
const STARTED = new Set<ChildProcess>();
process.on('exit', () => {
  for (const { pid, exitCode, signalCode } of STARTED) {
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL');
  }
});

/** Lines printed with `--json` that do not match the schema. */
export const PROBLEMS: string[] = [];

/** A real process of the product under test, whose JSON lines can be waited for. */
export class Process {
  readonly lines: Record<string, unknown>[] = [];
  readonly child: ChildProcess;
  stderr = '';
  stdout = '';
  readonly exited: Promise<number | null>;
  #waiting: (() => void)[] = [];

  constructor(
    command: string,
    args: readonly string[],
    options: { env?: Readonly<Record<string, string | undefined>>; cwd?: string },
  ) {
    this.child = spawn(command, args, {
      env: { ...environment(), ...options.env },
      cwd: options.cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    createInterface({ input: this.child.stdout! }).on('line', (line) => {
      this.stdout += `${line}\n`;
      const read = parsed(line);
      this.lines.push(read);
      const problem = args.includes('--json') ? lineProblem(read) : undefined;
      if (problem !== undefined) PROBLEMS.push(`${args.join(' ')}: ${problem}`);
      this.#waiting.splice(0).forEach((wake) => wake());
    });
    this.child.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
      this.stderr = (this.stderr + chunk).slice(-200_000);
    });
    STARTED.add(this.child);
    this.exited = once(this.child, 'close').then(([code]) => {
      this.#waiting.splice(0).forEach((wake) => wake());
      return code as number | null;
    });
  }

  async line(
    wanted: (line: Record<string, unknown>) => boolean,
    timeoutMs = 60_000,
  ): Promise<Record<string, unknown>> {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const found = this.lines.find(wanted);
      if (found !== undefined) return found;
      const left = deadline - Date.now();
      if (left <= 0 || this.child.exitCode !== null || this.child.signalCode !== null) {
        throw new Error(
          `no such line from ${this.child.spawnargs.join(' ')}\n${this.stdout}\n${this.stderr}`,
        );
      }
      await Promise.race([
        new Promise<void>((resolve) => this.#waiting.push(resolve)),
        new Promise<void>((resolve) => setTimeout(resolve, Math.min(left, 1_000)).unref()),
      ]);
    }
  }

  /** @throws Error with all its output, if the process has ended. */
  assertAlive(): void {
    if (this.child.exitCode === null && this.child.signalCode === null) return;
    throw new Error(`${this.child.spawnargs.join(' ')} has ended\n${this.stdout}\n${this.stderr}`);
  }

  ready(): Promise<Record<string, unknown>> {
    return this.line((line) => line['event'] === 'ready', 120_000);
  }

  /** Sends `kill -9` to the process and its descendants. */
  async kill(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      process.kill(-this.child.pid!, 'SIGKILL');
    }
    await this.exited;
  }

  /** Sends `kill -9` to this process only: its children must notice that themselves. */
  async killAlone(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exited;
  }

  async stop(): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGTERM');
    return this.exited;
  }
}

function parsed(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return { text: line };
  }
}

/** Starts `slipway …` as a separate process. `bin`: of another installation. Default: this one's. */
export function slipway(
  args: readonly string[],
  {
    bin = SLIPWAY,
    ...options
  }: { env?: Readonly<Record<string, string | undefined>>; cwd?: string; bin?: string | undefined } = {},
): Process {
  return new Process(process.execPath, [...QUICK_START, bin, ...args], options);
}

/** The environment without the CI, Temporal and Slipway variables of the test run. */
function environment(): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    ([name, value]) =>
      value !== undefined && !/^(TEMPORAL_|SLIPWAY_|GITHUB_|CI$|CI_|VITEST|NODE_OPTIONS)/.test(name),
  );
  return Object.fromEntries(kept) as Record<string, string>;
}
