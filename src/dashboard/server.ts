import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { getRequestListener } from '@hono/node-server';

import { SlipwayError } from '../domain/errors.ts';
import type { TemporalConnection } from '../temporal/client/connection.ts';
import type { AccessSettings } from './access/accessSettings.ts';
import { createApp } from './app.ts';
import { LiveRooms } from './live/liveRooms.ts';
import { TargetWatches } from './live/targetWatches.ts';
import { loadPageFiles } from './pageFiles.ts';

/** How a dashboard is started. */
export interface DashboardOptions {
  readonly temporal: TemporalConnection;
  /** Where a `slipway dev` of this machine keeps its state. */
  readonly home: string;
  /** Where references to keys lead to: `env:NAME`. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The address that it listens on. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly access: AccessSettings;
  /** The folder of what browsers load. Default: the build's. */
  readonly filesFolder?: string;
}

/** A running dashboard. */
export interface Dashboard {
  /** `http://host:port`, without a slash at the end. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts the page. It keeps no state: any number of dashboards may run beside each other.
 *
 * @throws SlipwayError SLIPWAY_PORT_UNAVAILABLE.
 */
export async function startDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { host, port, filesFolder, ...context } = options;
  const files = await loadPageFiles(filesFolder);
  const watches = new TargetWatches(context);
  const app = createApp({ ...context, files, watches, rooms: new LiveRooms() });
  const answer = getRequestListener(app.fetch);
  const server = createServer((request, response) => void answer(request, response));
  await listen(server, host, port);
  const { port: listened } = server.address() as AddressInfo;
  return {
    url: `http://${reachable(host)}:${listened}`,
    close: async () => {
      watches.close();
      const closed = once(server, 'close');
      server.close();
      // Pages that follow live keep their connections for as long as they are open.
      server.closeAllConnections();
      await closed;
    },
  };
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const place = `${host}:${port}`;
    const message =
      code === 'EADDRINUSE'
        ? `another process listens on ${place}`
        : `${place} cannot be listened on (${code ?? ''})`;
    throw new SlipwayError('SLIPWAY_PORT_UNAVAILABLE', message, {
      place,
      hint: 'choose another port with --port; --port 0 takes a free one',
      cause: error,
    });
  }
}

/** The name under which a bound address is reached: an unspecified one is reached by loopback. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
