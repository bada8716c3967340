import type { IncomingMessage, ServerResponse } from 'node:http';

import { type Dispatcher, Pool } from 'undici';

/** One request on its way through the gateway. */
export interface Passage {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Path and query as the agent gets them. */
  readonly path: string;
  /** What the client's path has before that. */
  readonly prefix: string;
  /** What the agent is shown in place of the client's key. Without it, the client's key is sent on. */
  readonly agentKey?: string;
}

/** How one attempt to forward a request went. */
export type Forwarding =
  /** It needs nothing more: answered, broken off in the middle of its answer, or the client has left. */
  | { readonly kind: 'over' }
  /** No answer came. `sent`: the agent may have taken it; else it surely never saw it, and the body is whole. */
  | { readonly kind: 'unanswered'; readonly sent: boolean }
  /** The request is one that cannot be sent on. */
  | { readonly kind: 'unforwardable'; readonly why: string };

/**
 * Forwards one request to one agent, streaming both ways with back pressure: nothing is gathered, so
 * server-sent events arrive as they are sent. When the client leaves, the agent's side is broken off too.
 * Answers the client only with what the agent answered. Never rejects.
 */
export async function forward(route: AgentRoute, passage: Passage): Promise<Forwarding> {
  const { request, response } = passage;
  let leave: (() => void) | undefined;
  route.enter();
  try {
    return await new Promise<Forwarding>((resolve) => {
      const handler = new ForwardingHandler(response, route.revisionId, resolve);
      leave = () => handler.clientLeft();
      response.once('close', leave);
      route.pool.dispatch(
        {
          path: passage.path,
          method: request.method ?? 'GET',
          headers: requestHeaders(request, passage),
          body: hasBody(request) ? bodyOf(request) : null,
        } as Dispatcher.DispatchOptions,
        handler,
      );
    });
  } finally {
    if (leave !== undefined) response.off('close', leave);
    route.leave();
  }
}

/** Whether a request carries a body (RFC 9112, section 6.3). */
export function hasBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length'];
  return request.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/** The body, read from the client only once the agent takes it: until then the request can go elsewhere. */
async function* bodyOf(request: IncomingMessage): AsyncGenerator<Buffer> {
  yield* request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
}

class ForwardingHandler implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;
  readonly #revisionId: string;
  readonly #resolve: (forwarding: Forwarding) => void;
  #controller: Dispatcher.DispatchController | undefined;

  constructor(response: ServerResponse, revisionId: string, resolve: (forwarding: Forwarding) => void) {
    this.#response = response;
    this.#revisionId = revisionId;
    this.#resolve = resolve;
  }

  clientLeft(): void {
    if (!this.#response.writableFinished) this.#controller?.abort(new Error('The client has left.'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#response.destroyed) this.clientLeft();
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, _: object, message = ''): void {
    // Interim answers (100, 103) are between the agent and this gateway.
    if (status < 200) return;
    const raw = controller.rawHeaders as Buffer[];
    this.#response.writeHead(status, message, responseHeaders(raw, this.#revisionId));
    // A client that follows a stream needs to know at once that it has begun.
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
      // What has begun cannot be taken back: an end that is not clean says that something is missing.
      this.#response.destroy();
      this.#resolve({ kind: 'over' });
    } else if (error.code === 'UND_ERR_INVALID_ARG' || error.code === 'UND_ERR_NOT_SUPPORTED') {
      this.#resolve({ kind: 'unforwardable', why: error.message });
    } else {
      this.#resolve({ kind: 'unanswered', sent: this.#controller !== undefined });
    }
  }
}

/** Headers that belong to one connection, not to the message (RFC 9110, section 7.6.1, and their forerunners). */
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

/** Replaced on the way in: the agent's own host, and what this gateway knows better than the client. */
const REPLACED = new Set([
  'host',
  'expect',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-prefix',
]);

/** The response header that names the revision that answered. */
const REVISION_HEADER = 'x-slipway-revision-id';

/**
 * A request's headers as the agent gets them: without hop-by-hop headers, with `x-forwarded-for` (the client's
 * address added to what was there), `-host`, `-proto` (kept from a proxy before this one) and `-prefix` (the
 * path that was taken off). With an `agentKey`, the credentials that the client showed the platform stay here, and the
 * agent is shown that key instead. Flat: name, value, name, value, repetitions kept.
 */
function requestHeaders(
  request: IncomingMessage,
  { prefix, agentKey }: { readonly prefix: string; readonly agentKey?: string | undefined },
): string[] {
  const { headers, socket } = request;
  const replaced = new Set([...REPLACED, ...(agentKey === undefined ? [] : platformCredentials(request))]);
  const kept = endToEnd(request.rawHeaders, headers.connection).filter(
    ([name]) => !replaced.has(name.toLowerCase()),
  );
  const passedBy = [headers['x-forwarded-for'], socket.remoteAddress].flat().filter(Boolean).join(', ');
  const host = first(headers['x-forwarded-host']) ?? headers.host;
  return [
    ...kept.flat(),
    ...(agentKey === undefined ? [] : ['x-api-key', agentKey]),
    ...(passedBy === '' ? [] : ['x-forwarded-for', passedBy]),
    ...(host === undefined ? [] : ['x-forwarded-host', host]),
    'x-forwarded-proto',
    first(headers['x-forwarded-proto']) ?? 'http',
    'x-forwarded-prefix',
    prefix,
  ];
}

/** Which headers were for the platform: `Authorization` only where it stood in for the key, else it is the agent's. */
function platformCredentials({ headers }: IncomingMessage): string[] {
  const own = ['x-api-key', 'x-tenant-id'];
  return (first(headers['x-api-key']) ?? '') === '' ? [...own, 'authorization'] : own;
}

/** An agent's response headers as the client gets them: end-to-end ones, and the revision that answered. */
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

/** A header's value; the first one, if it came several times. */
export function first(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** An agent that requests can go to. */
export interface GatewayAgent {
  /** Its address. */
  readonly url: string;
  /** The revision it serves: in the header `x-slipway-revision-id` of every answer. */
  readonly revisionId: string;
  /** Resolves when its process has ended (`RunningAgent.exited`). Without it, that shows only by trying. */
  readonly exited?: Promise<unknown>;
}

/** The way to one agent: its connections, and how many requests are on it. */
export class AgentRoute {
  readonly pool: Pool;
  readonly revisionId: string;
  /** Whether its process is known to have ended, so that no request need find out. */
  exited = false;
  #inFlight = 0;
  #onIdle: (() => void) | undefined;

  /** `onExit` is called when the agent's process has ended. */
  constructor(agent: GatewayAgent, onExit: () => void) {
    this.revisionId = agent.revisionId;
    this.pool = new Pool(new URL(agent.url).origin, {
      // A run may think for as long as it wants: only the client's leaving and the agent's end break it off.
      headersTimeout: 0,
      bodyTimeout: 0,
      connectTimeout: 2_000,
    });
    void agent.exited?.then(() => {
      this.exited = true;
      onExit();
    });
  }

  /** Counts a request in. Every `enter` has its `leave`. */
  enter(): void {
    this.#inFlight += 1;
  }

  leave(): void {
    this.#inFlight -= 1;
    if (this.#inFlight === 0) this.#onIdle?.();
  }

  /** To be called once no new request can enter. Resolves, with the connections closed, when the last has left. */
  async retire(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
    await this.pool.destroy();
  }
}
