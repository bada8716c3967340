import {
  createServer,
  request as forward,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A request as a rule sees it. */
export interface ProxiedRequest {
  readonly method: string;
  readonly path: string;
}

/** What the proxy does with one request. */
export type Fault =
  /** Answers it itself. */
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly body?: string;
    }
  /** Closes the connection without passing the request on. */
  | { readonly kind: 'drop' }
  /** Passes it on, lets it be carried out, and closes the connection instead of answering. */
  | { readonly kind: 'lose_answer' }
  /** Waits before it passes it on. */
  | { readonly kind: 'hold'; readonly until: Promise<void> }
  /** Passes it on, and waits before it answers. */
  | { readonly kind: 'hold_answer'; readonly until: Promise<void> };

/** Decides on one request; `undefined` passes it through. Called once per request, in order. */
export type FaultRule = (request: ProxiedRequest) => Fault | undefined;

/** A proxy between Slipway and the platform that misbehaves on purpose, and keeps a log of what passed. */
export interface FaultProxy {
  readonly url: string;
  readonly log: readonly (ProxiedRequest & { readonly at: number })[];
  rule: FaultRule;
  close(): Promise<void>;
}

/** Starts a proxy before the platform at `origin`. */
export async function startFaultProxy(origin: string): Promise<FaultProxy> {
  const log: (ProxiedRequest & { at: number })[] = [];
  const proxy = { rule: (() => undefined) as FaultRule };
  const server = createServer((incoming, outgoing) => {
    const seen = { method: incoming.method ?? 'GET', path: incoming.url ?? '/' };
    log.push({ ...seen, at: performance.now() });
    pass(incoming, outgoing, proxy.rule(seen), origin).catch(() => outgoing.destroy());
  });
  const url = await listen(server);
  return {
    url,
    log,
    get rule() {
      return proxy.rule;
    },
    set rule(rule) {
      proxy.rule = rule;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

async function pass(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  fault: Fault | undefined,
  origin: string,
): Promise<void> {
  if (fault?.kind === 'answer') {
    incoming.resume();
    outgoing.writeHead(fault.status, { 'content-type': 'application/json', ...fault.headers });
    outgoing.end(fault.body ?? JSON.stringify({ detail: 'a fault on purpose' }));
    return;
  }
  if (fault?.kind === 'drop') {
    incoming.socket.destroy();
    return;
  }
  // The request is taken in whole before it is held: its caller may be gone when it is passed on.
  const body = fault?.kind === 'hold' ? await buffer(incoming) : undefined;
  if (fault?.kind === 'hold') await fault.until;
  const headers = { ...incoming.headers, host: new URL(origin).host };
  await new Promise<void>((resolve, reject) => {
    const options = { method: incoming.method, headers };
    const upstream = forward(`${origin}${incoming.url ?? '/'}`, options, (answer) => {
      answer.on('error', reject);
      if (fault?.kind === 'lose_answer') {
        answer.resume().on('end', () => {
          incoming.socket.destroy();
          resolve();
        });
        return;
      }
      const send = (): void => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing).on('finish', resolve);
      };
      if (fault?.kind === 'hold_answer') fault.until.then(send, reject);
      else send();
    });
    upstream.on('error', reject);
    outgoing.on('close', () => {
      // A request on which there is a rule is carried out although its caller has gone.
      if (!outgoing.writableFinished && fault === undefined) upstream.destroy();
    });
    if (body === undefined) incoming.pipe(upstream);
    else upstream.end(body);
  });
}

function listen(server: Server): Promise<string> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    });
  });
}
