import { sameSecret } from '@slipway/contract/sameSecret';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { cors } from 'hono/cors';
import { HTTPException } from 'hono/http-exception';
import { z } from 'zod';

import { isLoopback } from '../../../config/environment.ts';
import { PAYLOAD_KEYS } from '../../../config/payloadKeys.ts';
import { keySetting } from '../../../config/secretReference.ts';
import { serve } from '../../../dashboard/listen.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { temporalSettings } from '../../../temporal/client/temporalSettings.ts';
import type { CommandContext } from '../../context.ts';
import { exitWithParent, interruptible, untilAborted } from '../../interruption.ts';

interface CodecOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** The origins of pages that may call it. Default: Temporal's UI, if known. */
  readonly origin?: readonly string[];
}

const CODEC_KEY = 'SLIPWAY_CODEC_KEY';

/** `slipway codec`: decrypts payloads for Temporal's UI and CLI, until SIGTERM or SIGINT. */
export async function runCodecCommand(
  { output, home, environment }: CommandContext,
  { host, port, origin }: CodecOptions,
): Promise<void> {
  const { codec, ui } = await temporalSettings(home, environment);
  if (codec === undefined) {
    throw new SlipwayError('SLIPWAY_PAYLOAD_KEYS_INVALID', 'there are no payload keys to decrypt with', {
      place: PAYLOAD_KEYS,
      hint: `set ${PAYLOAD_KEYS} as the worker has it`,
    });
  }
  const key = keySetting(environment, CODEC_KEY);
  if (key === undefined && !isLoopback(host)) {
    throw new SlipwayError('SLIPWAY_CODEC_OPEN', `every client that reaches ${host} could decrypt payloads`, {
      place: CODEC_KEY,
      hint: `set a key, ${CODEC_KEY}="$(openssl rand -hex 24)", or listen on this machine only: slipway codec --host 127.0.0.1`,
    });
  }
  const origins = (origin ?? (ui === null ? [] : [ui])).map(originOf);
  exitWithParent(environment);
  return interruptible(async (signal) => {
    const server = await serve(codecRoutes({ codec, key, origins }), host, port);
    output.event({ event: 'ready', codec: server.url });
    output.print(`The codec server is at ${server.url}`);
    output.print(`Pages that may call it: ${origins.length === 0 ? 'none' : origins.join(', ')}`);
    await untilAborted(signal);
    await server.close();
  });
}

function originOf(url: string): string {
  if (/^https?:\/\//u.test(url) && URL.canParse(url)) return new URL(url).origin;
  throw new SlipwayError('SLIPWAY_USAGE', `"${url}" is not the address of a page`, {
    place: '--origin',
    hint: 'write it as browsers show it: --origin https://temporal.example.com',
  });
}

interface CodecServerOptions {
  readonly codec: PayloadCodec;
  /** The token that `Authorization: Bearer` must carry. Absent: no authorization. */
  readonly key?: string;
  readonly origins: readonly string[];
}

/** A page of Temporal's UI shows a few hundred payloads at most; the server itself takes 2 MB each. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;

const bytes = z.base64().transform((text): Uint8Array => Buffer.from(text, 'base64'));
/** `temporal.api.common.v1.Payloads` in protobuf's JSON form. */
const PAYLOADS = z.object({
  payloads: z
    .array(
      z.object({ metadata: z.record(z.string(), bytes).default({}), data: bytes.default(new Uint8Array()) }),
    )
    .default([]),
});

/** Temporal's remote codec: POST `/encode` and `/decode`, for Temporal's UI and CLI. */
export function codecRoutes({ codec, key, origins }: CodecServerOptions): Hono {
  const app = new Hono();
  app.onError((error, c) => {
    if (error instanceof HTTPException) return c.json({ message: error.message }, error.status);
    if (!(error instanceof SlipwayError)) return c.json({ message: 'the codec server failed' }, 500);
    const { code, message, hint } = error;
    return c.json({ code, message, hint }, 400);
  });
  app.use(async (c, next) => {
    c.header('cache-control', 'no-store');
    const origin = c.req.header('origin');
    if (origin !== undefined && !origins.includes(origin))
      throw refusal(403, `pages of ${origin} may not ask`);
    await next();
  });
  // Browsers send no credentials with a preflight request, which this answers.
  app.use(
    cors({
      origin: [...origins],
      credentials: true,
      allowMethods: ['POST', 'OPTIONS'],
      allowHeaders: ['authorization', 'content-type', 'x-namespace'],
    }),
  );
  const tooLarge = (): never => {
    throw refusal(413, `the request is larger than ${MAX_BODY_BYTES} bytes`);
  };
  app.use(async (c, next) => {
    if (conversionOf(c) === undefined) throw refusal(404, 'there are /encode and /decode');
    if (c.req.method !== 'POST') throw refusal(405, 'use POST');
    const given = /^Bearer (.+)$/u.exec(c.req.header('authorization') ?? '')?.[1] ?? '';
    if (key !== undefined && !sameSecret(given, key))
      throw refusal(401, 'the key is missing or wrong: Authorization: Bearer SLIPWAY_CODEC_KEY');
    await next();
  });
  app.post('*', bodyLimit({ maxSize: MAX_BODY_BYTES, onError: tooLarge }), async (c) => {
    const payloads = await readPayloads(c);
    const made = await codec[conversionOf(c) ?? 'decode'](payloads);
    return c.json({ payloads: made.map(toJson) });
  });
  return app;
}

/** A UI may put its own path before it, for example the namespace. */
function conversionOf(c: Context): 'encode' | 'decode' | undefined {
  return (['encode', 'decode'] as const).find((conversion) => c.req.path.endsWith(`/${conversion}`));
}

async function readPayloads(c: Context): Promise<Payload[]> {
  const body = await c.req.text();
  try {
    return PAYLOADS.parse(JSON.parse(body)).payloads;
  } catch {
    throw refusal(400, 'expected {"payloads":[{"metadata":{"NAME":"BASE64"},"data":"BASE64"}]}');
  }
}

function toJson({ metadata, data }: Payload) {
  const text = (value: Uint8Array): string => Buffer.from(value).toString('base64');
  const named = Object.entries(metadata ?? {}).map(([name, value]) => [name, text(value)] as const);
  return { metadata: Object.fromEntries(named), data: text(data ?? new Uint8Array()) };
}

function refusal(status: 400 | 401 | 403 | 404 | 405 | 413, message: string): HTTPException {
  return new HTTPException(status, { message });
}
