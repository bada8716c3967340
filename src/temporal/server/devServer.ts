import { mkdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { SlipwayError } from '../../domain/errors.ts';
import { SEARCH_ATTRIBUTES } from '../../domain/searchAttributes.ts';
import { connectTemporal } from '../client/connection.ts';
import { registerSearchAttributes } from '../client/searchAttributes.ts';
import { startedTemporal, type TemporalSettings } from '../client/temporalSettings.ts';
import { type GuardedServer, startGuardedServer } from './guardedServer.ts';

export interface DevServerOptions {
  readonly executable: string;
  /** Its state: a SQLite file, created if missing. */
  readonly databaseFile: string;
  readonly port: number;
  readonly uiPort: number;
  /** Default: `default`. */
  readonly namespace?: string;
  readonly onLog?: (line: string) => void;
  readonly signal?: AbortSignal;
}

export interface DevServer extends GuardedServer {
  readonly address: string;
  readonly namespace: string;
  readonly ui: string;
}

const HOST = '127.0.0.1';
const CHECK_EVERY_MS = 10_000;
/** After three checks without an answer, which take over a minute, the server hangs: a busy one is slow, but answers. */
const UNANSWERED_CHECKS = 3;

/**
 * Makes a dev server more than twice as fast as its defaults: a write-ahead log, eager activities (returned to the worker
 * that scheduled them), and task queues that are polled as soon as they contain something. SQLite keeps 64 MiB of pages in
 * memory, and moves the log into the file each 64 MiB instead of each 4, so that pages written often are moved once. The
 * namespace's search attributes are read every 2 s, not at each use.
 */
export const TUNING = [
  ...['--sqlite-pragma', 'journal_mode=wal', '--sqlite-pragma', 'synchronous=normal'],
  ...['--sqlite-pragma', 'cache_size=-65536', '--sqlite-pragma', 'wal_autocheckpoint=16384'],
  ...['--dynamic-config-value', 'system.enableActivityEagerExecution=true'],
  ...['--dynamic-config-value', 'history.transferProcessorMaxPollRPS=1000'],
  ...['--dynamic-config-value', 'system.forceSearchAttributesCacheRefreshOnRead=false'],
];

/** By default, the state of 128,000 workflows stays in memory for an hour, although the file has it. */
const CACHE = [
  ...['--dynamic-config-value', 'history.cacheSizeBasedLimit=true'],
  ...['--dynamic-config-value', `history.hostLevelCacheMaxSizeBytes=${16 * 2 ** 20}`],
];

/**
 * Starts Temporal's dev server, waits until it serves, and registers the search attributes. It is ended when it hangs, so that
 * it can be started again.
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE, with its last output, if it ends or does not serve in time.
 */
export async function startDevServer(options: DevServerOptions): Promise<DevServer> {
  const { port, uiPort, namespace = 'default', onLog, signal } = options;
  const folder = dirname(options.databaseFile);
  await mkdir(folder, { recursive: true });
  const address = `${HOST}:${port}`;
  const settings = startedTemporal({ address, namespace, taskQueue: '' });
  const server = await startGuardedServer({
    executable: options.executable,
    cwd: folder,
    args: [
      ...['server', 'start-dev', '--ip', HOST, '--port', String(port), '--ui-port', String(uiPort)],
      // Temporal reads a path as a part of a URL, in which "#", "?" and "%" have a meaning.
      ...['--db-filename', basename(options.databaseFile), '--log-level', 'error', '--namespace', namespace],
      ...TUNING,
      ...CACHE,
      ...Object.values(SEARCH_ATTRIBUTES).flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
    ],
    serves: () => prepareNamespace(settings, { timeoutMs: 2_000 }),
    onLog,
    signal,
    didNotServe: ({ message, cause }) =>
      new SlipwayError('SLIPWAY_TEMPORAL_UNREACHABLE', `Temporal's dev server ${message}`, {
        place: options.databaseFile,
        hint: 'read its output; if its file is damaged, move it away to start with an empty one',
        cause,
      }),
  });
  void endWhenHanging(server, settings, onLog);
  return { ...server, address, namespace, ui: `http://${HOST}:${uiPort}` };
}

/** A dev server can stop answering without ending, seen after kills under load. */
async function endWhenHanging(
  server: GuardedServer,
  settings: TemporalSettings,
  onLog: DevServerOptions['onLog'],
): Promise<void> {
  const hasEnded = server.exited.then(() => true);
  for (let unanswered = 0; unanswered < UNANSWERED_CHECKS;) {
    if (await Promise.race([hasEnded, delay(CHECK_EVERY_MS, false, { ref: false })])) return;
    unanswered = (await answers(settings)) ? 0 : unanswered + 1;
  }
  onLog?.('slipway: Temporal has not answered for a minute, so it is started again');
  await server.stop();
}

async function answers(settings: TemporalSettings): Promise<boolean> {
  try {
    await (await connectTemporal(settings)).close();
    return true;
  } catch {
    return false;
  }
}

/** Connects to Temporal, and registers what is missing in its namespace. */
export async function prepareNamespace(
  settings: TemporalSettings,
  options?: { readonly timeoutMs: number },
): Promise<void> {
  const temporal = await connectTemporal(settings, options);
  try {
    await registerSearchAttributes(temporal);
  } finally {
    await temporal.close();
  }
}
