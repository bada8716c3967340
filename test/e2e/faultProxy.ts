import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { closeServer, listen } from '../support/listen.ts';

export interface ProxiedRequest {
  readonly method: string;
  readonly path: string;
  /** Only of the requests whose bodies say more than their paths: to create a deployment, and PATCH. */
  readonly body?: string;
}

export type Fault =
  /** Answers it itself. */
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly body?: string;
    }
  | { readonly kind: 'drop' }
  /** Forwards it, and closes the connection instead of answering. */
  | { readonly kind: 'lose_answer' }
  /** Waits, then forwards it. */
  | { readonly kind: 'hold'; readonly until: Promise<void> }
  /** The same, but forwards it only if the caller still waits. */
  | { readonly kind: 'hold_back'; readonly until: Promise<void> }
  /** Forwards it, and waits before it answers. If `until` rejects, the answer is lost. */
  | { readonly kind: 'hold_answer'; readonly until: Promise<void>; readonly onAnswer?: () => void }
  /** Forwards it, and replaces the answer with its own. */
  | { readonly kind: 'answer_instead'; readonly status: number }
  /** Forwards it twice, the second time after the first answer. Returns the first answer. */
  | { readonly kind: 'twice' }
  /** Closes the connection at once, and forwards the request later. */
  | { readonly kind: 'land_late'; readonly until: Promise<void> };

export type FaultRule = (request: ProxiedRequest) => Fault | undefined;

export const PASS: FaultRule = () => undefined;

/** Whether a request has a given kind. */
type RequestKind = (request: ProxiedRequest) => boolean;

export const REQUESTS = {
  find: ({ method, path }) => method === 'GET' && path.startsWith('/v2/deployments?'),
  create: ({ method, path }) => method === 'POST' && path === '/v2/deployments',
  uploadUrl: ({ method, path }) => method === 'POST' && path.endsWith('/upload-url'),
  upload: ({ method, path }) => method === 'PUT' && path.startsWith('/uploads/'),
  patch: ({ method }) => method === 'PATCH',
  poll: ({ method, path }) => method === 'GET' && /\/revisions\/[0-9a-f-]+$/.test(path),
  serving: ({ method, path }) => method === 'GET' && /\/agents\/[0-9a-f-]+\/ok$/.test(path),
  run: ({ method, path }) => method === 'POST' && path.endsWith('/runs/stream'),
  redeploy: ({ method, path }) => method === 'POST' && path.endsWith('/redeploy'),
} satisfies Readonly<Record<string, RequestKind>>;

/**
 * Sets the rule that applies a fault, if given, to requests of a kind.
 * @param times - to how many of them. Default: all.
 * @returns a promise that resolves when the first of them comes.
 */
export function meet(
  on: { rule: FaultRule },
  isMet: RequestKind,
  fault?: Fault,
  times = Number.POSITIVE_INFINITY,
): Promise<void> {
  let left = times;
  return new Promise((resolve) => {
    on.rule = (request) => {
      if (left <= 0 || !isMet(request)) return undefined;
      left -= 1;
      resolve();
      return fault;
    };
  });
}

/** Changes the JSON answer of a request; `undefined`: no change. */
type AnswerRule = (request: ProxiedRequest) => ((answer: unknown) => unknown) | undefined;

/** One forwarding of a request. Times are in milliseconds of the clock of `performance`. */
interface Passage {
  readonly at: number;
  /** `null`: it was never answered. */
  status: number | null;
}

export interface LoggedRequest extends ProxiedRequest {
  readonly at: number;
  /** One entry for each time that the control plane received it: none, one or two. */
  readonly passages: Passage[];
}

export interface FaultProxy {
  readonly url: string;
  readonly log: readonly LoggedRequest[];
  rule: FaultRule;
  /** Applies in addition to the fault rule. */
  answerRule: AnswerRule;
  close(): Promise<void>;
}

/** Starts a proxy before the platform at `origin`. */
export async function startFaultProxy(origin: string): Promise<FaultProxy> {
  const log: LoggedRequest[] = [];
  const server = createServer((incoming, outgoing) => {
    const seen = { method: incoming.method ?? 'GET', path: incoming.url ?? '/' };
    const take = (body?: Buffer): Promise<void> => {
      const request = body === undefined ? seen : { ...seen, body: body.toString('utf8') };
      const logged: LoggedRequest = { ...request, at: performance.now(), passages: [] };
      log.push(logged);
      const fault = proxy.rule(request);
      const changed = proxy.answerRule(request);
      return pass(incoming, outgoing, { fault, changed, logged, origin }, body);
    };
    const isRead = seen.method === 'PATCH' || REQUESTS.create(seen);
    (isRead ? buffer(incoming).then(take) : take()).catch(() => outgoing.destroy());
  });
  const proxy: FaultProxy = {
    url: await listen(server),
    log,
    rule: PASS,
    answerRule: () => undefined,
    close: () => closeServer(server),
  };
  return proxy;
}

interface Order {
  readonly fault: Fault | undefined;
  readonly changed: ReturnType<AnswerRule>;
  readonly logged: LoggedRequest;
  readonly origin: string;
}

async function pass(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  order: Order,
  read: Buffer | undefined,
): Promise<void> {
  const { fault } = order;
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
  // The body is buffered before a hold or a repetition, because the caller may be gone when it is forwarded.
  const held =
    fault?.kind === 'hold' || fault?.kind === 'hold_back' || fault?.kind === 'land_late' ? fault : undefined;
  const isTakenIn = held !== undefined || fault?.kind === 'twice';
  const body = read ?? (isTakenIn ? await buffer(incoming) : undefined);
  if (fault?.kind === 'land_late') incoming.socket.destroy();
  await held?.until;
  if (fault?.kind === 'hold_back' && outgoing.destroyed) return;
  await passOn(incoming, outgoing.destroyed ? undefined : outgoing, body, order);
  if (fault?.kind === 'twice') await passOn(incoming, undefined, body, order);
}

/** Forwards a request and returns its answer. If the caller is gone, the answer is dropped. */
async function passOn(
  incoming: IncomingMessage,
  outgoing: ServerResponse | undefined,
  body: Buffer | undefined,
  { fault, changed, logged, origin }: Order,
): Promise<void> {
  const headers = { ...incoming.headers, host: new URL(origin).host };
  const passage: Passage = { at: performance.now(), status: null };
  logged.passages.push(passage);
  await new Promise<void>((resolve, reject) => {
    const options = { method: incoming.method, headers };
    const upstream = forward(`${origin}${incoming.url ?? '/'}`, options, (answer) => {
      passage.status = answer.statusCode ?? null;
      answer.on('error', reject);
      if (outgoing === undefined || fault?.kind === 'lose_answer' || fault?.kind === 'answer_instead') {
        answer.resume().on('end', () => {
          if (outgoing !== undefined && fault?.kind === 'lose_answer') incoming.socket.destroy();
          if (outgoing !== undefined && fault?.kind === 'answer_instead') {
            outgoing.writeHead(fault.status, { 'content-type': 'application/json' });
            outgoing.end(JSON.stringify({ detail: 'a fault on purpose, after the fact' }));
          }
          resolve();
        });
        return;
      }
      const send = (): void => {
        if (changed !== undefined) {
          void sendChanged(answer, outgoing, changed).then(resolve, reject);
          return;
        }
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing).on('finish', resolve).on('close', resolve);
      };
      if (fault?.kind === 'hold_answer') {
        fault.onAnswer?.();
        fault.until.then(send, reject);
      } else send();
    });
    upstream.on('error', reject);
    outgoing?.on('close', () => {
      // A request with a fault is forwarded even if its caller is gone.
      if (!outgoing.writableFinished && fault === undefined) upstream.destroy();
    });
    if (body === undefined) incoming.pipe(upstream);
    else upstream.end(body);
  });
}

async function sendChanged(
  answer: IncomingMessage,
  outgoing: ServerResponse,
  change: (answer: unknown) => unknown,
): Promise<void> {
  const text = (await buffer(answer)).toString('utf8');
  outgoing.writeHead(answer.statusCode ?? 502, { 'content-type': 'application/json' });
  outgoing.end(JSON.stringify(change(JSON.parse(text))));
}
