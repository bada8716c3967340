import { createServer } from 'node:http';

import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';

import { createAccess, requireReleaseRole } from '../../../src/dashboard/access/access.ts';
import { AccessRefusal } from '../../../src/dashboard/access/accessRefusal.ts';
import { readAccessSettings } from '../../../src/dashboard/access/accessSettings.ts';
import type { PageEnv } from '../../../src/dashboard/access/session.ts';
import { LiveRooms } from '../../../src/dashboard/live/liveRooms.ts';
import { renderPages } from '../../../src/dashboard/page/layout.tsx';
import { SlipwayError } from '../../../src/domain/errors.ts';
import { closeServer, listen } from '../../support/listen.ts';

type Environment = Readonly<Record<string, string>>;

/** The parts of the page that access control needs: the viewer, and a button. */
export function accessApp(environment: Environment): Hono<PageEnv> {
  const settings = readAccessSettings(environment, '127.0.0.1');
  const access = createAccess(settings);
  const app = new Hono<PageEnv>();
  app.use(renderPages({ version: '1', routes: new Hono(), address: (name) => `/files/${name}` }));
  app.onError((error, c) => {
    if (error instanceof SlipwayError && !(error instanceof AccessRefusal)) {
      return c.text(`${error.code}: ${error.message}`, 409);
    }
    if (!(error instanceof AccessRefusal)) throw error;
    if (error.retryAfterSeconds !== undefined) c.header('retry-after', String(error.retryAfterSeconds));
    return c.text(`${error.code}: ${error.message}`, error.status);
  });
  app.route('/', access.routes);
  app.use(access.requireViewer);
  app.get('/who', (c) => c.json(c.get('viewer')));
  app.get('/form', (c) => c.html(`<input type="hidden" name="csrf" value="${c.get('session').csrf}" />`));
  app.post('/press', requireReleaseRole, (c) => c.text(`pressed by ${c.get('viewer').name}`));
  app.post('/prove', async (c) => {
    const sent = await c.req.parseBody<Record<'store' | 'workflowId' | 'requestId', string>>();
    const { store, workflowId, requestId } = sent;
    return c.text(await c.get('prove')(store, { action: 'approve', workflowId, requestId }));
  });
  const live = { fragments: () => ({}), subscribe: () => () => undefined };
  app.get('/live', (c) => new LiveRooms('v1').open('/', c.var, () => Promise.resolve(live)));
  app.get('*', (c) => c.text(`at ${c.req.path}`));
  return app;
}

/** A page that listens on a loopback address. */
export interface TestPage {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves such a page on a free port. */
export async function startPage(environment: Environment): Promise<TestPage> {
  const app = accessApp(environment);
  // On a busy machine, the default of 5 s may pass just before the next request.
  const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
    void getRequestListener(app.fetch)(request, response);
  });
  return {
    url: await listen(server),
    close: () => closeServer(server),
  };
}

/** The token in a page's form. */
export function tokenIn(text: string): string {
  return /name="csrf" value="([^"]+)"/u.exec(text)![1]!;
}
