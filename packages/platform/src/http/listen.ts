import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, Socket } from 'node:net';
import { finished } from 'node:stream/promises';

import { getRequestListener, RequestError } from '@hono/node-server';
import type { Hono } from 'hono';
import { answerClientErrors } from '@slipway/contract/clientErrors';
import type { Logger } from 'pino';

import { PlatformError } from '../errors.ts';

export interface Listening {
  /** Its address for clients: `http://host:port`, without a trailing slash. */
  readonly url: string;
  /** Accepts no new connections, lets open requests finish for up to `graceMs` (default 5,000), then aborts them. */
  close(graceMs?: number): Promise<void>;
}

/**
 * Listens with the platform's timeouts: 30 s for a request's headers, 10 min for a whole request (a 200 MB upload
 * over a slow line), none for answers, which may stream for any time. An idle connection stays open for longer than
 * proxies keep theirs, of which the longest is 10 min. `port` 0 takes a free one; `host` defaults to `127.0.0.1`.
 * `option` is the command line option of the port, for the error.
 * @throws PlatformError SLIPWAY_PORT_UNAVAILABLE.
 */
export async function listen(
  listener: RequestListener,
  options: { port: number; host?: string; option?: '--port' | '--metrics' },
): Promise<Listening> {
  const host = options.host ?? '127.0.0.1';
  const server = createServer(
    { headersTimeout: 30_000, requestTimeout: 600_000, keepAliveTimeout: 620_000 },
    (request, response) => {
      readBeforeClosing(request);
      listener(request, response);
    },
  );
  server.on('checkContinue', (request, response) => {
    continueWhenRead(request, response);
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request, response) => {
    readBeforeClosing(request);
    response.statusCode = 417;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ detail: 'Expect: only 100-continue is supported.' }));
  });
  answerClientErrors(server);
  server.listen(options.port, host);
  await once(server, 'listening').catch((cause: unknown) => {
    throw portUnavailable(host, options, cause as NodeJS.ErrnoException);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${reachable(host)}:${port}`,
    close: (graceMs = 5_000) => close(server, graceMs),
  };
}

/** How long a connection that closes still reads its request, in milliseconds. */
const READ_BEFORE_CLOSING_MS = 5_000;

/**
 * Lets a connection that closes after its answer first read the rest of the request, for a limited time. Otherwise the
 * client gets a reset while it sends, and may never read the answer.
 */
function readBeforeClosing(request: IncomingMessage): void {
  const { socket } = request;
  // Node calls this after the last answer of a connection.
  socket.destroySoon = () => {
    const destroy = () => Socket.prototype.destroySoon.call(socket);
    if (request.complete) {
      destroy();
      return;
    }
    socket.end();
    const signal = AbortSignal.timeout(READ_BEFORE_CLOSING_MS);
    void finished(request, { signal }).then(destroy, destroy);
  };
}

/**
 * Asks a client that sent `Expect: 100-continue` for its body only when the body is read (RFC 9110, section 10.1.1). A
 * client that was not asked may leave the body out, so the connection then closes after the answer.
 */
function continueWhenRead(request: IncomingMessage, response: ServerResponse): void {
  const { shouldKeepAlive } = response;
  const read = request._read.bind(request);
  response.shouldKeepAlive = false;
  request._read = (size) => {
    request._read = read;
    if (!response.headersSent) {
      response.shouldKeepAlive = shouldKeepAlive;
      response.writeContinue();
    }
    read(size);
  };
}

/**
 * Answers requests by an app. Those whose URL it cannot read (`OPTIONS *`, a bad `Host`) get the body of every error. So
 * does a request whose handler throws something other than an `Error`, as an agent's code can: Hono rethrows it.
 */
export function listenerOf(app: Hono, log: Logger): RequestListener {
  const answer = getRequestListener(app.fetch, {
    // A health check by HTTP/1.0 has no Host.
    hostname: 'localhost',
    // Its limits of time and size would end the connection of a client that still sends: see `discardRest`.
    autoCleanupIncoming: false,
    errorHandler: (error) => {
      if (error instanceof RequestError)
        return Response.json({ detail: `Bad Request: ${error.message}.` }, { status: 400 });
      log.error({ err: error }, 'a request failed');
      return Response.json({ detail: 'Internal Server Error' }, { status: 500 });
    },
  });
  return (request, response) => {
    response.once('finish', () => discardRest(request));
    void answer(request, response);
  };
}

/**
 * Discards what the app has not read of a body: the connection's next request comes behind it, and a client that still
 * sends when its connection ends may never read the answer. The stream that the app reads from would pause the body.
 */
function discardRest(request: IncomingMessage): void {
  request.removeAllListeners('data').resume();
}

function portUnavailable(
  host: string,
  { port, option = '--port' }: { readonly port: number; readonly option?: string },
  cause: NodeJS.ErrnoException,
): PlatformError {
  const place = `${host}:${port}`;
  const message =
    cause.code === 'EADDRINUSE' ? `Another process listens on ${place}` : `${place} cannot be listened on`;
  return new PlatformError('SLIPWAY_PORT_UNAVAILABLE', message, {
    place,
    hint: `Choose another port with ${option}; 0 takes a free one.`,
    cause,
  });
}

/** The host name for clients: loopback for an unspecified address. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

async function close(server: Server, graceMs: number): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(cut);
}
