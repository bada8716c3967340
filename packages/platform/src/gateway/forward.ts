import type { IncomingMessage, ServerResponse } from 'node:http';

import { type Dispatcher, Pool } from 'undici';

export interface ProxyRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Path and query for the agent. */
  readonly path: string;
  /** The part of the client's path before that. */
  readonly prefix: string;
  /** The key for the agent, instead of the client's. */
  readonly agentKey: string;
}

export type ForwardResult =
  /** Finished: answered, broken off during the answer, or the client disconnected. */
  | { readonly kind: 'over' }
  /** No answer came. If not `sent`, the agent never saw the request, and the body is unread. */
  | { readonly kind: 'unanswered'; readonly sent: boolean }
  | { readonly kind: 'unforwardable'; readonly reason: string };

/**
 * Forwards one request to one agent, streaming both ways with back pressure. Nothing is buffered, so server-sent
 * events arrive at once. If the client disconnects, the agent's side is aborted too. Sends the client only the
 * agent's answer. Never rejects.
 */
export async function forward(route: AgentRoute, proxyRequest: ProxyRequest): Promise<ForwardResult> {
  const { request, response } = proxyRequest;
  let onClientClose: (() => void) | undefined;
  route.countRequest();
  try {
    return await new Promise<ForwardResult>((resolve) => {
      const handler = new ForwardingHandler(response, route.revisionId, resolve);
      onClientClose = () => handler.abortForClient();
      response.once('close', onClientClose);
      route.pool.dispatch(
        {
          path: proxyRequest.path,
          method: request.method ?? 'GET',
          headers: requestHeaders(request, proxyRequest),
          body: hasBody(request) ? bodyOf(request) : null,
        } as Dispatcher.DispatchOptions,
        handler,
      );
    });
  } finally {
    if (onClientClose !== undefined) response.off('close', onClientClose);
    route.releaseRequest();
  }
}

/** Whether a request has a body (RFC 9112, section 6.3). */
export function hasBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length'];
  return request.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/**
 * Reads the body only once the agent takes it: until then the request can go to another agent. What an agent that
 * answers early does not read is discarded, else the connection's next request would wait behind it.
 */
async function* bodyOf(request: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    yield* request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  } finally {
    request.resume();
  }
}

class ForwardingHandler implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;
  readonly #revisionId: string;
  readonly #resolve: (forwarding: ForwardResult) => void;
  #controller: Dispatcher.DispatchController | undefined;

  constructor(response: ServerResponse, revisionId: string, resolve: (forwarding: ForwardResult) => void) {
    this.#response = response;
    this.#revisionId = revisionId;
    this.#resolve = resolve;
  }

  abortForClient(): void {
    if (!this.#response.writableFinished) this.#controller?.abort(new Error('The client has left.'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#response.destroyed) this.abortForClient();
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, _: object, message = ''): void {
    // Interim responses (100, 103) stay between the agent and this gateway.
    if (status < 200) return;
    const raw = controller.rawHeaders as Buffer[];
    this.#response.writeHead(status, message, responseHeaders(raw, this.#revisionId));
    // A client that follows a stream must learn at once that it has begun.
    this.#response.flushHeaders();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#response.write(chunk)) return;
    controller.pause();
    this.#response.once('drain', () => controller.resume());
  }

  onResponseEnd(): void {
    this.#response.end();
    this.#resolve({ kind: 'over' });
  }

  onResponseError(_: unknown, error: Error & { code?: string }): void {
    if (this.#response.headersSent || this.#response.destroyed) {
      // The answer has begun, so only an aborted connection shows that something is missing.
      this.#response.destroy();
      this.#resolve({ kind: 'over' });
    } else if (error.code === 'UND_ERR_INVALID_ARG' || error.code === 'UND_ERR_NOT_SUPPORTED') {
      this.#resolve({ kind: 'unforwardable', reason: error.message });
    } else {
      this.#resolve({ kind: 'unanswered', sent: this.#controller !== undefined });
    }
  }
}

/** Headers of one connection, not of the message (RFC 9110, section 7.6.1, and its predecessors). */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Request headers that the gateway replaces. */
const REPLACED_HEADERS = new Set([
  'host',
  'expect',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-prefix',
]);

const REVISION_HEADER = 'x-slipway-revision-id';

/**
 * The request headers for the agent: without hop-by-hop headers, with `x-forwarded-for` (the client's address
 * appended), `-host`, `-proto` (kept from an earlier proxy) and `-prefix` (the removed part of the path). The agent's
 * key replaces the client's platform credentials. Flat: name, value, name, value, repetitions kept.
 */
function requestHeaders(
  request: IncomingMessage,
  { prefix, agentKey }: Pick<ProxyRequest, 'prefix' | 'agentKey'>,
): string[] {
  const { headers, socket } = request;
  const replaced = new Set([...REPLACED_HEADERS, ...platformCredentials(request)]);
  const kept = endToEnd(request.rawHeaders, headers.connection).filter(
    ([name]) => !replaced.has(name.toLowerCase()),
  );
  const forwardedFor = [headers['x-forwarded-for'], socket.remoteAddress].flat().filter(Boolean).join(', ');
  const host = first(headers['x-forwarded-host']) ?? headers.host;
  return [
    ...kept.flat(),
    'x-api-key',
    agentKey,
    ...(forwardedFor === '' ? [] : ['x-forwarded-for', forwardedFor]),
    ...(host === undefined ? [] : ['x-forwarded-host', host]),
    'x-forwarded-proto',
    first(headers['x-forwarded-proto']) ?? 'http',
    'x-forwarded-prefix',
    prefix,
  ];
}

/** The headers for the platform: `Authorization` only if it replaced the API key, else it is for the agent. */
function platformCredentials({ headers }: IncomingMessage): string[] {
  const own = ['x-api-key', 'x-tenant-id'];
  return (first(headers['x-api-key']) ?? '') === '' ? [...own, 'authorization'] : own;
}

/** An agent's response headers for the client: end-to-end ones, and the answering revision. */
function responseHeaders(raw: readonly (Buffer | string)[], revisionId: string): string[] {
  const flat = raw.map((part) => (typeof part === 'string' ? part : part.toString('latin1')));
  const connection = pairs(flat)
    .filter(([name]) => name.toLowerCase() === 'connection')
    .map(([, value]) => value)
    .join(',');
  const kept = endToEnd(flat, connection).filter(([name]) => name.toLowerCase() !== REVISION_HEADER);
  return [...kept.flat(), REVISION_HEADER, revisionId];
}

function endToEnd(flat: readonly string[], connection: string | undefined): [string, string][] {
  const named = new Set((connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  return pairs(flat).filter(([name]) => {
    const lower = name.toLowerCase();
    return !HOP_BY_HOP.has(lower) && !named.has(lower);
  });
}

function pairs(flat: readonly string[]): [string, string][] {
  return flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1] ?? '']] : []));
}

/** A header's value; the first, if it came several times. */
export function first(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** An agent that the gateway can send requests to. */
export interface GatewayAgent {
  readonly url: string;
  /** Its revision, in the header `x-slipway-revision-id` of every answer. */
  readonly revisionId: string;
  /** Resolves when its process has ended (`RunningAgent.exited`). Without it, only a failed request shows that. */
  readonly exited?: Promise<unknown>;
}

/** The connections to one agent, and the number of its open requests. */
export class AgentRoute {
  readonly pool: Pool;
  readonly revisionId: string;
  /** Whether its process has ended, so that no request needs to try it. */
  exited = false;
  #inFlight = 0;
  #onIdle: (() => void) | undefined;

  /** `onExit` is called when the agent's process has ended. */
  constructor(agent: GatewayAgent, onExit: () => void) {
    this.revisionId = agent.revisionId;
    this.pool = new Pool(new URL(agent.url).origin, {
      // A run may take any time: only the client's disconnect and the agent's end abort it.
      headersTimeout: 0,
      bodyTimeout: 0,
      connectTimeout: 2_000,
    });
    void agent.exited?.then(() => {
      this.exited = true;
      onExit();
    });
  }

  /** Counts a request. Every `countRequest` needs a `releaseRequest`. */
  countRequest(): void {
    this.#inFlight += 1;
  }

  releaseRequest(): void {
    this.#inFlight -= 1;
    if (this.#inFlight === 0) this.#onIdle?.();
  }

  /** Call it once no new request can enter. Resolves after the last request has left and the connections are closed. */
  async drainAndClose(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
    await this.pool.destroy();
  }
}
