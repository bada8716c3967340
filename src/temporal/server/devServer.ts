import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

import { SlipwayError } from '../../domain/errors.ts';
import { SEARCH_ATTRIBUTES } from '../../domain/searchAttributes.ts';
import { connectTemporal } from '../client/connection.ts';
import { registerSearchAttributes } from '../client/searchAttributes.ts';
import type { TemporalSettings } from '../client/temporalSettings.ts';
import { type GuardedServer, startGuardedServer } from './guardedServer.ts';

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

/** A running Temporal dev server. */
export interface DevServer extends GuardedServer {
  /** `host:port`. */
  readonly address: string;
  readonly namespace: string;
  /** The base URL of its UI. */
  readonly ui: string;
}

const HOST = '127.0.0.1';

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
  const { port, uiPort, namespace = 'default', onLog, signal, readyTimeoutMs = 60_000 } = options;
  await mkdir(dirname(options.databaseFile), { recursive: true });
  const address = `${HOST}:${port}`;
  const settings: TemporalSettings = {
    address,
    namespace,
    taskQueue: '',
    origin: 'dev',
    connectionOptions: { address },
    ui: null,
  };
  const server = await startGuardedServer({
    executable: options.executable,
    args: [
      ...['server', 'start-dev', '--ip', HOST, '--port', String(port), '--ui-port', String(uiPort)],
      ...['--db-filename', options.databaseFile, '--log-level', 'error', '--namespace', namespace],
      ...TUNING,
      ...Object.values(SEARCH_ATTRIBUTES).flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
    ],
    serves: () => serves(settings),
    readyTimeoutMs,
    onLog,
    signal,
    didNotServe: ({ message, cause }) =>
      new SlipwayError('SLIPWAY_TEMPORAL_UNREACHABLE', `Temporal's dev server ${message}`, {
        place: options.databaseFile,
        hint: 'read its output; if its file is damaged, move it away to start with an empty one',
        cause,
      }),
  });
  return { ...server, address, namespace, ui: `http://${HOST}:${uiPort}` };
}

async function serves(settings: TemporalSettings): Promise<void> {
  const temporal = await connectTemporal(settings, 2_000);
  try {
    await registerSearchAttributes(temporal.connection, settings.namespace);
  } finally {
    await temporal.close();
  }
}
