import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface ServerProcess {
  readonly executable: string;
  readonly args: readonly string[];
  /** Where it runs. Default: where this process runs. */
  readonly cwd?: string;
  /** Resolves if the server serves; else rejects. */
  readonly serves: () => Promise<void>;
  readonly onLog?: (line: string) => void;
  readonly signal?: AbortSignal;
  readonly didNotServe: (failure: StartFailure) => Error;
}

interface StartFailure {
  readonly message: string;
  readonly cause: unknown;
}

/** A running server. It ends with this process, however this process ends. */
export interface GuardedServer {
  /** Resolves when the server has ended, by itself or by `stop`. */
  readonly exited: Promise<void>;
  stop(): Promise<void>;
}

const READY_TIMEOUT_MS = 60_000;
const RETRY_MS = 150;
const LAST_LINES = 8;

/**
 * Starts a server through a guard, and waits until it serves. The server is in its own process group, so that Ctrl-C
 * in a terminal reaches only this process, which then shuts the server down.
 * @throws the error of `didNotServe` if the server ends or does not serve in time; the signal's reason if it is
 * aborted.
 */
export async function startGuardedServer(options: ServerProcess): Promise<GuardedServer> {
  const { serves, onLog, signal } = options;
  const child = spawnGuarded(options);
  const lastLines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      lastLines.push(line);
      if (lastLines.length > LAST_LINES) lastLines.shift();
      onLog?.(line);
    });
  }
  let hasExited = false;
  const exited = new Promise<void>((resolve) => {
    const end = (): void => {
      hasExited = true;
      resolve();
    };
    child.once('close', end).once('error', (error) => {
      lastLines.push(error.message);
      end();
    });
  });
  const stop = async (): Promise<void> => {
    if (!hasExited) child.kill('SIGTERM');
    await exited;
  };

  const deadline = Date.now() + READY_TIMEOUT_MS;
  for (;;) {
    try {
      await serves();
      return { exited, stop };
    } catch (cause) {
      const ended = hasExited as boolean;
      if (!ended && Date.now() < deadline && signal?.aborted !== true) {
        await Promise.race([exited, new Promise((resolve) => setTimeout(resolve, RETRY_MS))]);
        continue;
      }
      await stop();
      signal?.throwIfAborted();
      const said = lastLines.length === 0 ? '' : `; its output:\n${lastLines.join('\n')}`;
      const what = ended ? 'ended before it served' : `did not serve within ${READY_TIMEOUT_MS / 1_000} s`;
      throw options.didNotServe({ message: `${what}${said}`, cause });
    }
  }
}

function spawnGuarded({ executable, args, cwd }: ServerProcess) {
  const fromSource = import.meta.url.endsWith('.ts');
  const guard = new URL(fromSource ? './serverGuard.ts' : './serverGuard.js', import.meta.url);
  const node = fromSource ? ['--import', import.meta.resolve('tsx')] : [];
  return spawn(process.execPath, [...node, fileURLToPath(guard), executable, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    cwd,
  });
}
