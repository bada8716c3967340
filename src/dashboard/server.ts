import type { Hono } from 'hono';

import type { ListeningHook } from '../temporal/client/hooks/hookClient.ts';
import type { AccessSettings } from './access/accessSettings.ts';
import { createApp } from './app.ts';
import { listen, type Listening, serve } from './listen.ts';
import { LiveRooms } from './live/liveRooms.ts';
import type { ReadContext } from './live/targetWatch.ts';
import { TargetWatches } from './live/targetWatches.ts';
import type { RecordOnPage } from './metrics/pageMetrics.ts';
import { loadPageFiles } from './pageFiles.ts';

export interface DashboardOptions extends ReadContext {
  readonly host: string;
  /** 0: a free port. */
  readonly port: number;
  readonly access: AccessSettings;
  /** Where metrics are served, on a separate listener. Default: they are not. */
  readonly metrics?: { readonly host: string; readonly port: number };
  /** Hooks whose listener is served at the same address, to everyone. Default: none. */
  readonly hooks?: { readonly routes: Hono; readonly ofFile: readonly ListeningHook[] };
  /** The folder of the files for browsers. Default: the build's output folder. */
  readonly filesFolder?: string;
}

/** Starts the page. It keeps no state, so any number of dashboards may run in parallel. */
export async function startDashboard(options: DashboardOptions): Promise<Listening> {
  const { host, port, filesFolder, metrics: place, hooks, ...context } = options;
  const files = await loadPageFiles(filesFolder);
  const rooms = new LiveRooms(files.version);
  const watches = new TargetWatches(context);
  const listeners: Listening[] = [];
  const close = async (): Promise<void> => {
    watches.close();
    await Promise.all(listeners.map((listener) => listener.close()));
  };
  try {
    let record: RecordOnPage | undefined;
    if (place !== undefined) {
      // Loaded only if metrics are served.
      const { openPageMetrics } = await import('./metrics/openPageMetrics.ts');
      const metrics = openPageMetrics(rooms);
      record = metrics.record;
      listeners.push(await listen(metrics.listener, { ...place, option: '--metrics' }));
    }
    const hooksOfFile = hooks?.ofFile ?? [];
    const app = createApp({ ...context, files, watches, rooms, record, hooksOfFile, hooks: hooks?.routes });
    const page = await serve(app, host, port);
    listeners.push(page);
    // If Temporal does not answer, the first page shows it.
    void watches.warm().catch(() => undefined);
    return { url: page.url, close };
  } catch (error) {
    await close();
    throw error;
  }
}
