import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';

import { ServiceError } from '../../src/clients/serviceError.ts';
import { type AfterTest, afterTest } from '../support/afterTest.ts';
import { closeServer, freePort, listen } from '../support/listen.ts';

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A service on loopback whose behavior a test defines. */
export interface FaultyService {
  readonly url: string;
  readonly requests: SeenRequest[];
  connections(): number;
  open(): number;
}

export type Handler = (request: SeenRequest, response: ServerResponse) => void;

/** Starts an HTTP service that reads each request, then calls the test's handler. Stopped after the test. */
export async function startService(
  answer: Handler,
  onTestFinished: AfterTest = afterTest,
): Promise<FaultyService> {
  const requests: SeenRequest[] = [];
  // On a busy machine, the default of 5 s may pass just before the next request.
  const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
    void text(request).then((body) => {
      const seen = { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body };
      requests.push(seen);
      answer(seen, response);
    });
  });
  const sockets = countSockets(server);
  onTestFinished(() => closeServer(server));
  return { url: await listen(server), requests, ...sockets };
}

/** Starts a service without HTTP: the test gets the raw socket. Stopped after the test. */
export async function startSocketService(serve: (socket: Socket) => void): Promise<FaultyService> {
  const open = new Set<Socket>();
  const server = createTcpServer((socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => undefined);
    serve(socket);
  });
  const sockets = countSockets(server);
  afterTest(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  return { url: await listen(server), requests: [], ...sockets };
}

export function json(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(value));
}

export function answers(status: number, value: unknown, headers: Record<string, string> = {}): Handler {
  return (_, response) => json(response, status, value, headers);
}

/** Gives the items one after the other, and then the last one again and again. */
export function inTurn<T>(items: readonly T[]): () => T | undefined {
  let given = 0;
  return () => items[Math.min(given++, items.length - 1)];
}

export async function closedPort(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}`;
}

export async function errorOf(call: Promise<unknown>): Promise<ServiceError> {
  const error: unknown = await call.then(
    () => new Error('The call succeeded'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ServiceError)) throw error;
  return error;
}

export async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 5_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('The condition did not come to hold within 5 s');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

function countSockets(server: { on(event: 'connection', listener: (socket: Socket) => void): unknown }) {
  let opened = 0;
  let open = 0;
  server.on('connection', (socket) => {
    opened += 1;
    open += 1;
    socket.on('close', () => (open -= 1));
  });
  return { connections: () => opened, open: () => open };
}
