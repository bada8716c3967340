import { createHmac, timingSafeEqual } from 'node:crypto';

import { INTEGRATIONS_ENDPOINTS } from '@slipway/contract/controlPlane/integration';
import { toValidationIssues } from '@slipway/contract/httpErrors';
import { parsedJson } from '@slipway/contract/json';
import { type Context, Hono } from 'hono';
import type { Kysely } from 'kysely';
import type { Logger } from 'pino';

import { GitFailure } from '../../git/gitCommand.ts';
import { readSecret } from '../integrations.ts';
import { limitBody, notJson, parsePath } from '../../http/parse.ts';
import { HttpProblem, invalid } from '../../http/problem.ts';
import type { Schema } from '../../store/schema.ts';
import { Push, type Pushes } from '../pushes/pushes.ts';

interface PushRoutesOptions {
  readonly kysely: Kysely<Schema>;
  readonly pushes: Pushes;
  readonly log: Logger;
}

/**
 * The largest delivery, in bytes: some 50,000 changed files. The signature covers the whole body, so it is in memory
 * before the sender is verified. For a larger push, the repository is queried.
 */
const DELIVERY_MAX_BYTES = 5 * 1024 ** 2;
const DELIVERY_ID_MAX = 200;

/**
 * The webhook that git hosts send pushes to, in GitHub's format. It takes no API key: the signature of the body with
 * the integration's webhook secret authenticates it. An event that is no push to a branch also gets 2xx with the
 * decision, because a host treats other answers as a broken webhook.
 */
export function pushRoutes(options: PushRoutesOptions): Hono<Variables> {
  const app = new Hono<Variables>();
  app.post(
    '/v1/integrations/github/:integration_id/webhook',
    // Reject without reading the body if possible.
    async (c, next) => {
      if (c.req.header('x-hub-signature-256') === undefined) throw unsigned();
      c.set('webhook', await webhookOf(c, options));
      await next();
    },
    limitBody(DELIVERY_MAX_BYTES),
    (c) => receive(c, options),
  );
  return app;
}

interface Variables {
  Variables: { webhook: { readonly id: string; readonly secret: string } };
}

async function webhookOf(c: Context, { kysely, log }: PushRoutesOptions) {
  const { integration_id: id } = parsePath(INTEGRATIONS_ENDPOINTS.deleteIntegration.params, c);
  const integration = await kysely
    .selectFrom('integrations')
    .select(['name', 'webhook_secret'])
    .where('id', '=', id)
    .executeTakeFirst();
  if (integration === undefined) throw new HttpProblem(404, `Integration ID ${id} not found.`);
  if (integration.webhook_secret === null) {
    throw new HttpProblem(401, 'This integration has no webhook secret, so it accepts no pushes.');
  }
  return { id, secret: await secretOf(integration.webhook_secret, integration.name, log) };
}

async function receive(c: Context<Variables>, { pushes, log }: PushRoutesOptions): Promise<Response> {
  const { id, secret } = c.get('webhook');
  const body = new Uint8Array(await c.req.arrayBuffer());
  if (!isSigned(body, secret, c.req.header('x-hub-signature-256') ?? '')) throw unsigned();
  const event = c.req.header('x-github-event') ?? '';
  if (event !== 'push') {
    const reason = event === 'ping' ? 'The webhook works.' : 'Only the event push is processed.';
    return c.json({ decision: 'nothing', reason, deployments: [] });
  }
  const push = Push.safeParse(payloadOf(c, body));
  if (!push.success) throw invalid(toValidationIssues(push.error, 'body'));
  const deliveryId = c.req.header('x-github-delivery')?.slice(0, DELIVERY_ID_MAX);
  const answer = await pushes.handleDelivery(id, deliveryId === '' ? undefined : deliveryId, push.data);
  log.info({ integration: id, delivery: deliveryId, decision: answer.decision }, 'received a push');
  return c.json(answer, answer.decision === 'nothing' ? 200 : 202);
}

function unsigned(): HttpProblem {
  return new HttpProblem(
    401,
    "The signature in X-Hub-Signature-256 is not that of this body by the integration's webhook secret.",
  );
}

async function secretOf(reference: string, name: string, log: Logger): Promise<string> {
  try {
    return await readSecret(reference, `The webhook secret of the integration '${name}'`);
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    log.error({ err: error }, 'a push could not be checked');
    throw new HttpProblem(503, 'The webhook secret of this integration could not be read.');
  }
}

/** The event, as JSON or in the form field `payload`: GitHub offers both. */
function payloadOf(c: Context, body: Uint8Array): unknown {
  const text = new TextDecoder().decode(body);
  const isForm = c.req.header('content-type')?.startsWith('application/x-www-form-urlencoded') === true;
  const payload = parsedJson(isForm ? (new URLSearchParams(text).get('payload') ?? '') : text);
  if (payload === undefined) throw notJson();
  return payload;
}

/** Whether a body was signed as in GitHub's `X-Hub-Signature-256`. The comparison takes constant time. */
function isSigned(body: Uint8Array, secret: string, signature: string): boolean {
  const given = /^sha256=(?<digits>[0-9a-f]{64})$/i.exec(signature)?.groups?.['digits'];
  if (given === undefined) return false;
  return timingSafeEqual(Buffer.from(given, 'hex'), createHmac('sha256', secret).update(body).digest());
}
