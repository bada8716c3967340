import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** A command to run to its end. */
export interface ChildCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** Each line that the command writes, to either stream. */
  readonly onLine?: (line: string) => void;
  /** Ends the command when aborted. */
  readonly signal?: AbortSignal;
}

const LAST_LINES = 5;

/**
 * Runs a command to its end.
 *
 * @returns `ok`, or why it failed: the last lines that it wrote, or that it could not be run.
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
