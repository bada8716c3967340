// The dashboard in its own process, for `dashboard.ts`. It runs from the sources and counts its calls to Temporal. It
// answers each message `count` with a `Counted`.
import { mkdir } from 'node:fs/promises';

import { InterceptingCall, type Interceptor } from '@grpc/grpc-js';
import { Connection } from '@temporalio/client';

import { startDashboard } from '../src/dashboard/server.ts';
import { callInterceptors, createClient } from '../src/temporal/client/connection.ts';
import { startedTemporal } from '../src/temporal/client/temporalSettings.ts';
import { bundlePageFiles } from '../test/dashboard/testDashboard.ts';
import { settingsOf } from './peers/processes.ts';

export interface DashboardProcessSettings {
  readonly address: string;
  readonly namespace: string;
  readonly taskQueue: string;
  /** The folder for the page's files. */
  readonly folder: string;
}

/** The first message: its address. */
export interface Started {
  readonly url: string;
}

/** The cost of the dashboard so far. */
export interface Counted {
  /** How many calls of each kind it made to Temporal. */
  readonly calls: Readonly<Record<string, number>>;
  /** Resident, after a garbage collection. */
  readonly memoryBytes: number;
}

const { address, namespace, taskQueue, folder } = settingsOf() as DashboardProcessSettings;
const calls: Record<string, number> = {};
const count: Interceptor = (options, nextCall) => {
  const name = options.method_definition.path.replace(/^.*\//, '');
  calls[name] = (calls[name] ?? 0) + 1;
  return new InterceptingCall(nextCall(options));
};
const connection = await Connection.connect({ address, interceptors: [...callInterceptors(), count] });
await mkdir(folder, { recursive: true });
await bundlePageFiles(folder);
const dashboard = await startDashboard({
  temporal: {
    settings: startedTemporal({ address, namespace, taskQueue }),
    connection,
    client: createClient(connection, namespace),
    close: () => connection.close(),
  },
  home: folder,
  environment: process.env,
  host: '127.0.0.1',
  port: 0,
  access: { signIn: { way: 'none', user: 'bench' } },
  filesFolder: folder,
});
process.on('message', () => {
  globalThis.gc?.();
  const counted: Counted = { calls, memoryBytes: process.memoryUsage().rss };
  process.send?.(counted);
});
process.once('disconnect', () => process.exit());
process.send?.({ url: dashboard.url } satisfies Started);
