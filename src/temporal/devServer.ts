import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { SlipwayError } from '../domain/errors.ts';
import { SEARCH_ATTRIBUTES } from '../domain/searchAttributes.ts';
import { connectTemporal } from './connection.ts';
import { registerSearchAttributes } from './searchAttributes.ts';
import { type TemporalSettings } from './temporalSettings.ts';

/** How a Temporal dev server is started. */
export interface DevServerOptions {
  /** The `temporal` executable. */
  readonly executable: string;
  /** Where it keeps its state: a SQLite file, made where it is missing. */
  readonly databaseFile: string;
  /** A free port. */
  readonly port: number;
  /** A free port for its UI. */
  readonly uiPort: number;
  /** Default: `default`. */
  readonly namespace?: string;
  /** Told each line that it prints. */
  readonly onLog?: (line: string) => void;
  readonly signal?: AbortSignal;
  /** How long it may take until it serves, in milliseconds. Default: 60,000. */
  readonly readyTimeoutMs?: number;
}

/** A running Temporal dev server. It ends with this process, however this process ends. */
export interface DevServer {
  /** `host:port`. */
  readonly address: string;
  readonly namespace: string;
  /** The base URL of its UI. */
  readonly ui: string;
  /** Resolves when it has ended, by itself or because it was told to. */
  readonly exited: Promise<void>;
  /** Ends it and waits until it has ended. */
  stop(): Promise<void>;
}

const HOST = '127.0.0.1';
const RETRY_MS = 150;
const LAST_LINES = 8;

/**
 * What makes a dev server about twice as fast as its defaults: a write-ahead log, activities handed to the worker that
 * asked for them, and queues that are looked at as soon as there is something in them.
 */
const TUNING = [
  ...['--sqlite-pragma', 'journal_mode=wal', '--sqlite-pragma', 'synchronous=normal'],
  ...['--dynamic-config-value', 'system.enableActivityEagerExecution=true'],
  ...['--dynamic-config-value', 'history.transferProcessorMaxPollRPS=1000'],
];

/**
 * Starts Temporal's dev server and waits until it serves, with the search attributes registered.
 *
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE, with what it printed last, where it ends or does not serve in time.
 */
export async function startDevServer(options: DevServerOptions): Promise<DevServer> {
  const { port, uiPort, namespace = 'default', onLog, readyTimeoutMs = 60_000 } = options;
  await mkdir(dirname(options.databaseFile), { recursive: true });
  const child = spawnGuarded(options.executable, [
    ...['server', 'start-dev', '--ip', HOST, '--port', String(port), '--ui-port', String(uiPort)],
    ...['--db-filename', options.databaseFile, '--log-level', 'error', '--namespace', namespace],
    ...TUNING,
    ...Object.values(SEARCH_ATTRIBUTES).flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
  ]);
  const lastLines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
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

  const address = `${HOST}:${port}`;
  const settings: TemporalSettings = {
    address,
    namespace,
    taskQueue: '',
    origin: 'dev',
    connectionOptions: { address },
    ui: null,
  };
  const deadline = Date.now() + readyTimeoutMs;
  for (;;) {
    try {
      await serves(settings);
      return { address, namespace, ui: `http://${HOST}:${uiPort}`, exited, stop };
    } catch (error) {
      const ended = hasExited as boolean;
      if (!ended && Date.now() < deadline && options.signal?.aborted !== true) {
        await Promise.race([exited, new Promise((resolve) => setTimeout(resolve, RETRY_MS))]);
        continue;
      }
      await stop();
      options.signal?.throwIfAborted();
      throw didNotServe(ended, readyTimeoutMs, lastLines, options.databaseFile, error);
    }
  }
}

async function serves(settings: TemporalSettings): Promise<void> {
  const temporal = await connectTemporal(settings, 2_000);
  try {
    await registerSearchAttributes(temporal.connection, settings.namespace);
  } finally {
    await temporal.close();
  }
}

/** Through a guard, in a process group of its own: Ctrl-C in a terminal reaches `slipway dev` alone, which ends it in order. */
function spawnGuarded(executable: string, args: readonly string[]): ChildProcess {
  const fromSource = import.meta.url.endsWith('.ts');
  const guard = new URL(fromSource ? './devServerGuard.ts' : './devServerGuard.js', import.meta.url);
  const node = fromSource ? ['--import', 'tsx'] : [];
  return spawn(process.execPath, [...node, fileURLToPath(guard), executable, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
}

function didNotServe(
  ended: boolean,
  readyTimeoutMs: number,
  lastLines: readonly string[],
  databaseFile: string,
  cause: unknown,
): SlipwayError {
  const said = lastLines.length === 0 ? '' : `; it said:\n${lastLines.join('\n')}`;
  const what = ended ? 'ended before it served' : `did not serve within ${readyTimeoutMs / 1_000} s`;
  return new SlipwayError('SLIPWAY_TEMPORAL_UNREACHABLE', `Temporal's dev server ${what}${said}`, {
    place: databaseFile,
    hint: 'look at what it said; where its file is damaged, moving it away begins with an empty one',
    cause,
  });
}
