import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

import { formatDuration } from '../../../domain/duration.ts';

export type OnProgress = (line: string) => void;

export interface InstallTask {
  /** An empty directory for this task. It is removed afterwards, with its content. */
  readonly workspace: string;
  /** The directory for the executable and the files that it needs. */
  readonly cacheDirectory: string;
  readonly onProgress: OnProgress;
  readonly env: NodeJS.ProcessEnv;
  /** How long a download may receive nothing, in milliseconds. */
  readonly stallMs: number;
  readonly signal?: AbortSignal;
}

/** The result of one way to install. The reason is one sentence without a full stop. */
export type InstallAttempt =
  { readonly ok: true; readonly path: string } | { readonly ok: false; readonly reason: string };

/** Without a line for longer than this, the command seems to hang. */
const TELL_EVERY_MS = 15_000;

/**
 * Repeats a line with the elapsed time every 15 s, until the work ends.
 * @param describe - creates the line each time.
 */
export async function repeatWhile<T>(
  onProgress: OnProgress,
  describe: () => string,
  work: () => Promise<T>,
): Promise<T> {
  const startedAt = Date.now();
  const timer = setInterval(() => {
    onProgress(`${describe()} (${formatDuration(Date.now() - startedAt)})`);
  }, TELL_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

interface ChildCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** Called with each line of output, from both streams. */
  readonly onLine?: (line: string) => void;
  readonly signal?: AbortSignal;
}

const LAST_LINES = 5;

/**
 * Runs a command until it ends.
 * @returns `ok`, or why it failed: its last lines of output, or that it could not be started.
 */
export async function runToEnd(command: ChildCommand): Promise<{ ok: true } | { ok: false; reason: string }> {
  const { file, args, env, cwd, onLine, signal } = command;
  const child = spawn(file, args, {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
    killSignal: 'SIGKILL',
  });
  const last: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      last.push(line);
      if (last.length > LAST_LINES) last.shift();
      onLine?.(line);
    });
  }
  return new Promise((resolve) => {
    child.once('error', (error) =>
      resolve({ ok: false, reason: `\`${file}\` could not be run: ${error.message}` }),
    );
    child.once('close', (code, killedBy) => {
      if (code === 0) resolve({ ok: true });
      else
        resolve({
          ok: false,
          reason: last.join('; ') || `it ended with ${killedBy ?? `code ${String(code)}`}`,
        });
    });
  });
}
