import {
  createServer,
  request as forward,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo } from 'node:net';

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

/** Starts a proxy before the platform at `origin`; addresses in its answers are made to lead through the proxy. */
export async function startFaultProxy(origin: () => string): Promise<FaultProxy> {
  const log: (ProxiedRequest & { at: number })[] = [];
  const proxy = { rule: (() => undefined) as FaultRule };
  const server = createServer((incoming, outgoing) => {
    const seen = { method: incoming.method ?? 'GET', path: incoming.url ?? '/' };
    log.push({ ...seen, at: performance.now() });
    pass(incoming, outgoing, proxy.rule(seen), origin(), url).catch(() => outgoing.destroy());
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
  own: string,
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
  if (fault?.kind === 'hold') await fault.until;
  const headers = { ...incoming.headers, host: new URL(origin).host };
  await new Promise<void>((resolve, reject) => {
    const upstream = forward(
      `${origin}${incoming.url ?? '/'}`,
      { method: incoming.method, headers },
      (answer) => {
        const rewrite = answer.headers['content-type']?.startsWith('application/json') === true;
        if (fault?.kind === 'lose_answer') {
          answer.resume();
          answer.on('end', () => {
            incoming.socket.destroy();
            resolve();
          });
          return;
        }
        const answerHeaders = { ...answer.headers };
        if (!rewrite) {
          outgoing.writeHead(answer.statusCode ?? 502, answerHeaders);
          answer.pipe(outgoing);
          answer.on('end', resolve).on('error', reject);
          outgoing.on('close', () => answer.destroy());
          return;
        }
        delete answerHeaders['content-length'];
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () => {
          const body = Buffer.concat(chunks).toString('utf8').replaceAll(origin, own);
          const send = (): void => {
            outgoing.writeHead(answer.statusCode ?? 502, answerHeaders);
            outgoing.end(body);
            resolve();
          };
          if (fault?.kind === 'hold_answer') fault.until.then(send, reject);
          else send();
        });
      },
    );
    upstream.on('error', reject);
    outgoing.on('close', () => {
      // The caller has gone; a request that has been passed on is carried out all the same.
      if (!outgoing.writableFinished && fault === undefined) upstream.destroy();
    });
    incoming.pipe(upstream);
  });
}

function listen(server: Server): Promise<string> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    });
  });
}
