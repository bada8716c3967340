import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { Payload, PayloadCodec } from '@temporalio/common';
import { z } from 'zod';

import { sameSecret } from '../../../dashboard/access/sameSecret.ts';
import { SlipwayError } from '../../../domain/errors.ts';

/** Options of a codec server. */
export interface CodecServerOptions {
  readonly codec: PayloadCodec;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** The token that `Authorization: Bearer` must carry. Absent: no authorization. */
  readonly key?: string;
  /** The origins of pages that may call it from a browser: `https://temporal.example.com`. */
  readonly origins: readonly string[];
}

/** A running codec server. */
export interface CodecServer {
  /** `http://host:port`, without a trailing slash. */
  readonly url: string;
  close(): Promise<void>;
}

/** A page of Temporal's UI shows a few hundred payloads at most; the server itself takes 2 MB each. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;

const bytes = z.base64().transform((text): Uint8Array => Buffer.from(text, 'base64'));
/** `temporal.api.common.v1.Payloads` in protobuf's JSON form. */
const PAYLOADS = z.object({
  payloads: z
    .array(
      z.object({
        metadata: z.record(z.string(), bytes).default({}),
        data: bytes.default(new Uint8Array()),
      }),
    )
    .default([]),
});

/**
 * Serves Temporal's remote codec: POST `/encode` and `/decode`, for Temporal's UI and CLI.
 *
 * @throws SlipwayError SLIPWAY_PORT_UNAVAILABLE.
 */
export async function startCodecServer(options: CodecServerOptions): Promise<CodecServer> {
  const { host, port } = options;
  const server = createServer((request, response) => void answer(options, request, response));
  await listen(server, host, port);
  const { port: listened } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${listened}`,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new SlipwayError('SLIPWAY_PORT_UNAVAILABLE', `${host}:${port} cannot be listened on`, {
      place: `${host}:${port}`,
      hint: 'choose another port: slipway codec --port 0 takes a free one',
      cause: error,
    });
  }
}

async function answer(
  options: CodecServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const { origin } = request.headers;
    if (origin !== undefined) {
      response.setHeader('vary', 'origin');
      if (!options.origins.includes(origin)) throw new Refusal(403, `pages of ${origin} may not ask`);
      response.setHeader('access-control-allow-origin', origin);
      response.setHeader('access-control-allow-credentials', 'true');
      response.setHeader('access-control-allow-methods', 'POST, OPTIONS');
      response.setHeader('access-control-allow-headers', 'authorization, content-type, x-namespace');
    }
    // Browsers send no credentials with a preflight request.
    if (request.method === 'OPTIONS') response.writeHead(204).end();
    else send(response, 200, await converted(options, request));
  } catch (error) {
    if (error instanceof Refusal) send(response, error.status, { message: error.message });
    else if (error instanceof SlipwayError)
      send(response, 400, { code: error.code, message: error.message, hint: error.hint });
    else send(response, 500, { message: 'the codec server failed' });
  }
}

async function converted({ codec, key }: CodecServerOptions, request: IncomingMessage): Promise<unknown> {
  const { pathname } = new URL(request.url ?? '/', 'http://codec');
  // A UI may put its own path before it, for example the namespace.
  const conversion = /\/(encode|decode)$/u.exec(pathname)?.[1];
  if (conversion === undefined) throw new Refusal(404, 'there are /encode and /decode');
  if (request.method !== 'POST') throw new Refusal(405, 'use POST');
  const given = /^Bearer (.+)$/u.exec(request.headers.authorization ?? '')?.[1] ?? '';
  if (key !== undefined && !sameSecret(given, key)) {
    throw new Refusal(401, 'the key is missing or wrong: Authorization: Bearer SLIPWAY_CODEC_KEY');
  }
  const payloads = await readPayloads(request);
  const made = conversion === 'encode' ? await codec.encode(payloads) : await codec.decode(payloads);
  return { payloads: made.map(toJson) };
}

async function readPayloads(request: IncomingMessage): Promise<Payload[]> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) throw new Refusal(413, `the request is larger than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  try {
    return PAYLOADS.parse(JSON.parse(Buffer.concat(chunks).toString())).payloads;
  } catch {
    throw new Refusal(400, 'expected {"payloads":[{"metadata":{"NAME":"BASE64"},"data":"BASE64"}]}');
  }
}

function toJson({ metadata, data }: Payload): unknown {
  const text = (value: Uint8Array): string => Buffer.from(value).toString('base64');
  const named = Object.entries(metadata ?? {}).map(([name, value]) => [name, text(value)]);
  return { metadata: Object.fromEntries(named) as unknown, data: text(data ?? new Uint8Array()) };
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(body));
}

/** An HTTP error response. */
class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
