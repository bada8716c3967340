import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';

import { resolveSecret } from '../config/secretReference.ts';
import { SlipwayError } from '../domain/errors.ts';
import type { HookAnswer } from '../domain/hooks/takeDelivery.ts';
import { deliverEvents, type ListeningHook } from '../temporal/client/hooks/hookClient.ts';
import type { TemporalConnection } from '../temporal/client/connection.ts';
import { FORMS, readEvents } from './forms.ts';
import { HookRefusal } from './form.ts';
import { busy, type Deliver, DeliveryQueue, Intake, RETRY_AFTER_S } from './deliveryQueue.ts';
import { deliveryOf, type RequestSource } from './listeningHook.ts';

/** The longest body: 256 KiB. */
export const BODY_MAX_BYTES = 262_144;
/** How long a body may take to arrive, in milliseconds. */
const BODY_WITHIN_MS = 10_000;

export interface HookOptions {
  readonly hooks: readonly ListeningHook[];
  readonly temporal: TemporalConnection;
  /** The variables of the hooks' secrets (`env:NAME`). Read for each request, so that a new secret applies at once. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly source: RequestSource;
  /** Called after each request. Default: nothing is called. */
  readonly onAnswered?: (answered: Answered) => void;
  /** Default: the clock. Milliseconds since 1970. */
  readonly now?: () => number;
}

export interface Answered {
  /** The name in the path. If the status is 404, no hook has it. */
  readonly hook: string;
  readonly status: number;
  /** Why it was rejected. Absent: it was accepted. */
  readonly error?: SlipwayError;
  readonly answers: readonly HookAnswer[];
}

/** `POST /hooks/NAME` receives events; `GET /health` answers. The listener is stateless. */
export function hookRoutes({ temporal, environment, source, now = Date.now, ...options }: HookOptions): Hono {
  const { hooks, onAnswered = () => undefined } = options;
  const app = new Hono();
  const intake = new Intake();
  const listening = new Map(
    hooks.map((hook) => {
      const deliver: Deliver = (delivery) => deliverEvents(temporal, hook, delivery);
      return [hook.name, { hook, queue: new DeliveryQueue(deliver) }];
    }),
  );
  const tooLarge = (): never => {
    throw new HookRefusal(413, 'SLIPWAY_HOOK_TOO_LARGE', `the body is longer than ${BODY_MAX_BYTES} bytes`);
  };
  app.onError((error, c) => {
    const refusal = refusalOf(error);
    onAnswered({ hook: c.req.param('name') ?? '', status: refusal.status, error: refusal, answers: [] });
    return refused(c, refusal);
  });
  app.get('/health', (c) => c.json({ status: 'ok' }));
  app.post('/hooks/:name', bodyLimit({ maxSize: BODY_MAX_BYTES, onError: tooLarge }), async (c) =>
    intake.within(declaredBytes(c), async (isLong) => {
      const name = c.req.param('name');
      const found = listening.get(name);
      if (found === undefined)
        throw new HookRefusal(404, 'SLIPWAY_HOOK_UNKNOWN', 'there is no hook at this address');
      const { hook, queue } = found;
      const received = { body: await bodyOf(c), header: (header: string) => c.req.header(header) };
      isLong(received.body.length);
      FORMS[hook.config.form].authenticate(received, resolveSecret(hook.config.secret, environment), now());
      const events = readEvents(hook.config.form, received);
      const answers = events.length === 0 ? [] : await queue.deliver(await deliveryOf(hook, events, source));
      if (answers.some(({ disposition }) => disposition === 'full'))
        throw busy('too many events of this hook wait to be decided');
      const status = answers.some(({ disposition }) => disposition === 'taken') ? 202 : 200;
      onAnswered({ hook: name, status, answers });
      return c.json({ events: answers }, status);
    }),
  );
  return app;
}

async function bodyOf(c: Context): Promise<Uint8Array> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const refusal = new HookRefusal(408, 'SLIPWAY_HOOK_PAYLOAD', 'the body did not arrive in time');
    timer = setTimeout(() => reject(refusal), BODY_WITHIN_MS);
  });
  try {
    return new Uint8Array(await Promise.race([c.req.arrayBuffer(), late]));
  } finally {
    clearTimeout(timer);
  }
}

function declaredBytes(c: Context): number {
  const length = Number(c.req.header('content-length') ?? BODY_MAX_BYTES);
  return Number.isInteger(length) && length >= 0 ? Math.min(length, BODY_MAX_BYTES) : BODY_MAX_BYTES;
}

/** An error that the sender cannot fix is a 503, so that it retries later. */
function refusalOf(error: unknown): HookRefusal {
  if (error instanceof HookRefusal) return error;
  if (!(error instanceof SlipwayError))
    return new HookRefusal(503, 'SLIPWAY_INTERNAL', 'the listener failed', { cause: error });
  const { code, message, place, hint } = error;
  return new HookRefusal(503, code, message, { place, hint, cause: error });
}

/** If the sender is not at fault, the response discloses no internal address, reference or hint. */
function refused(c: Context, { status, code, message, hint }: HookRefusal): Response {
  const isOurs = status === 503 && code !== 'SLIPWAY_HOOK_BUSY';
  if (status === 503) c.header('retry-after', String(RETRY_AFTER_S));
  // A busy listener does not keep the connections of those that it refuses.
  if (status === 408 || code === 'SLIPWAY_HOOK_BUSY') c.header('connection', 'close');
  return c.json(
    {
      error: {
        code,
        message: isOurs ? 'the event was not accepted: send it again later' : message,
        hint: isOurs ? undefined : hint,
      },
    },
    status,
  );
}
