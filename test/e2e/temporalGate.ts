import {
  type ClientHttp2Session,
  connect,
  constants,
  createSecureServer,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { listen } from '../support/listen.ts';

/** One message between a worker and Temporal. */
export interface GatedMessage {
  /** The name of the call in Temporal's service: `RespondActivityTaskCompleted`. */
  readonly call: string;
  readonly way: 'request' | 'answer';
  /** The protobuf message, in which ids and names are plain text. */
  readonly bytes: Buffer;
}

/** Holds a message until the promise settles; `undefined` lets it through. */
type GateRule = (message: GatedMessage) => Promise<void> | undefined;

/** Who may call what through a gate. */
export interface GateAccess {
  /** The key and certificate of the gate's own TLS, in PEM. A client must present the same certificate. */
  readonly tls: { readonly key: string; readonly cert: string };
  /** The gRPC status with which a call is refused; `undefined` lets it through. */
  readonly refuse: (headers: IncomingHttpHeaders) => number | undefined;
}

/** A gate between a worker and Temporal that distinguishes their calls. It outlives both. */
export interface TemporalGate {
  /** `host:port`, for the worker. */
  readonly address: string;
  rule: GateRule;
  close(): Promise<void>;
}

const UNAVAILABLE = 14;

/**
 * Opens a gate before the Temporal at `address`, which may start later.
 * @param access - who may call what. Default: everybody everything, without TLS.
 */
export async function openTemporalGate(address: string, access?: GateAccess): Promise<TemporalGate> {
  let session: ClientHttp2Session | undefined;
  const temporal = (): ClientHttp2Session => {
    if (session === undefined || session.closed || session.destroyed) {
      session = connect(`http://${address}`);
      // Each pending call reports the error.
      session.on('error', () => undefined);
    }
    return session;
  };
  const server =
    access === undefined
      ? createServer()
      : createSecureServer({ ...access.tls, ca: access.tls.cert, requestCert: true });
  server.on('session', (worker) => worker.on('error', () => undefined));
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    const refusal = access?.refuse(headers);
    if (refusal !== undefined) {
      refuse(stream, refusal);
      return;
    }
    carry(stream, headers, temporal, (message) => gate.rule(message)).catch(() =>
      refuse(stream, UNAVAILABLE),
    );
  });
  const { host } = new URL(await listen(server));
  const gate: TemporalGate = {
    address: host,
    rule: () => undefined,
    close: async () => {
      session?.destroy();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
  return gate;
}

/** One call: each call of a worker is one request message and one response message. */
async function carry(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  temporal: () => ClientHttp2Session,
  rule: GateRule,
): Promise<void> {
  const hasGone = (): boolean => stream.closed;
  const call = (headers[':path'] ?? '').split('/').at(-1) ?? '';
  const encoding = headers['grpc-encoding'];
  const asked = await buffer(stream);
  await rule({ call, way: 'request', bytes: messageIn(asked, encoding) });
  if (hasGone()) return;
  const answer = await ask(stream, headers, asked, temporal());
  await rule({ call, way: 'answer', bytes: messageIn(answer.body, answer.headers['grpc-encoding']) });
  if (hasGone()) return;
  const failed = answer.body.length === 0 && Object.keys(answer.trailers).length === 0;
  stream.respond(answer.headers, failed ? { endStream: true } : { waitForTrailers: true });
  if (failed) return;
  stream.on('wantTrailers', () => stream.sendTrailers(answer.trailers));
  stream.end(answer.body);
}

interface Answer {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly trailers: IncomingHttpHeaders;
}

function ask(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  body: Buffer,
  temporal: ClientHttp2Session,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const upstream = temporal.request(headers);
    // Cancels the poll of a worker that is gone.
    const give = (): void => upstream.close(constants.NGHTTP2_CANCEL);
    stream.once('close', give);
    const answer: { headers?: IncomingHttpHeaders; trailers: IncomingHttpHeaders } = { trailers: {} };
    upstream.on('response', (headers) => (answer.headers = headers));
    upstream.on('trailers', (trailers: IncomingHttpHeaders) => (answer.trailers = trailers));
    upstream.on('error', reject);
    upstream.on('close', () => reject(new Error('Temporal has gone')));
    upstream.end(body);
    buffer(upstream).then((received) => {
      stream.off('close', give);
      const { headers, trailers } = answer;
      if (headers === undefined) reject(new Error('Temporal has not answered'));
      else resolve({ headers, trailers, body: received });
    }, reject);
  });
}

/** Answers with a gRPC status alone. */
function refuse(stream: ServerHttp2Stream, status: number): void {
  if (stream.closed || stream.headersSent) {
    stream.destroy();
    return;
  }
  stream.respond(
    { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': String(status) },
    { endStream: true },
  );
}

/** The message after gRPC's 5-byte prefix (compressed flag and length). */
function messageIn(body: Buffer, encoding: string | string[] | undefined): Buffer {
  if (body.length < 5) return Buffer.alloc(0);
  const message = body.subarray(5);
  return body[0] === 1 && encoding === 'gzip' ? gunzipSync(message) : message;
}
