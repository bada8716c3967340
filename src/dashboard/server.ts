import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';

import type { TemporalConnection } from '../temporal/client/connection.ts';
import type { AccessSettings } from './access/accessSettings.ts';
import { createApp } from './app.ts';
import { listen, type Listening } from './listen.ts';
import { LiveRooms } from './live/liveRooms.ts';
import { TargetWatches } from './live/targetWatches.ts';
import type { RecordOnPage } from './metrics/pageMetrics.ts';
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
  /** Where metrics are served, on a listener of their own. Default: nowhere. */
  readonly metrics?: { readonly host: string; readonly port: number };
  /** What else is served at the same address, to everyone. Default: nothing. */
  readonly hooks?: Hono;
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
  const { host, port, filesFolder, metrics: place, ...context } = options;
  const files = await loadPageFiles(filesFolder);
  const rooms = new LiveRooms();
  const watches = new TargetWatches(context);
  const listeners: Listening[] = [];
  const close = async (): Promise<void> => {
    watches.close();
    await Promise.all(listeners.map((listener) => listener.close()));
  };
  try {
    let record: RecordOnPage | undefined;
    if (place !== undefined) {
      // Loaded only if it is asked for.
      const { openPageMetrics } = await import('./metrics/openPageMetrics.ts');
      const metrics = openPageMetrics(rooms);
      record = metrics.record;
      listeners.push(await listen(metrics.listener, { ...place, option: '--metrics' }));
    }
    const app = createApp({ ...context, files, watches, rooms, record });
    const answer = getRequestListener(app.fetch);
    const page = await listen((request, response) => void answer(request, response), {
      host,
      port,
      option: '--port; --port 0 takes a free one',
    });
    listeners.push(page);
    // If Temporal does not answer, the first page says so.
    void watches.warm().catch(() => undefined);
    return { url: page.url, close };
  } catch (error) {
    await close();
    throw error;
  }
}
