import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';

import { createAccess, type PageEnv } from '../../../src/dashboard/access/access.ts';
import { AccessRefusal } from '../../../src/dashboard/access/accessRefusal.ts';
import { readAccessSettings } from '../../../src/dashboard/access/accessSettings.ts';
import { viewersProof } from '../../../src/dashboard/access/signedInIdentity.ts';
import { csrfOf } from '../../../src/dashboard/access/session.ts';
import { SlipwayError } from '../../../src/domain/errors.ts';
import { requireRole, viewerOf } from '../../../src/dashboard/access/viewer.ts';

type Environment = Readonly<Record<string, string>>;

/** The parts of the page that access control needs: the viewer, and a button. */
export async function accessApp(environment: Environment): Promise<Hono<PageEnv>> {
  const settings = await readAccessSettings(environment, '127.0.0.1');
  const access = createAccess(settings, {
    version: '1',
    routes: new Hono(),
    address: (name) => `/files/${name}`,
  });
  const app = new Hono<PageEnv>();
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
  app.get('/who', (c) => c.json(viewerOf(c)));
  app.get('/form', (c) => c.html(`<input type="hidden" name="csrf" value="${csrfOf(c)}" />`));
  app.post('/press', requireRole('release'), (c) => c.text(`pressed by ${viewerOf(c).name}`));
  app.post('/prove', async (c) => {
    const sent = await c.req.parseBody<Record<'store' | 'workflowId' | 'requestId', string>>();
    const { store, workflowId, requestId } = sent;
    return c.text(await viewersProof(c)(store, { action: 'approve', workflowId, requestId }));
  });
  app.get('/live', (c) => {
    const never = new ReadableStream<Uint8Array>({
      start: (stream) => stream.enqueue(Buffer.from('data: 1\n\n')),
    });
    return c.body(never, 200, { 'content-type': 'text/event-stream' });
  });
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
  const app = await accessApp(environment);
  const server = createServer((request, response) => void getRequestListener(app.fetch)(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The token in a page's form. */
export function tokenIn(text: string): string {
  return /name="csrf" value="([^"]+)"/u.exec(text)![1]!;
}
