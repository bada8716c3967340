import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import type { AgentRoute } from './agentRoute.ts';
import { requestHeaders, responseHeaders } from './forwardedHeaders.ts';

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
    // Whoever follows a stream wants to know at once that it has begun.
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
