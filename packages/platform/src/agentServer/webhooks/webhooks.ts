import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import type { Logger } from 'pino';
import { Agent, request } from 'undici';

import { ReachableAddresses } from './reachableAddresses.ts';

/** How long one delivery may take, in milliseconds. */
const DELIVERY_TIMEOUT_MS = 10_000;

const RETRY_AFTER_MS = [500, 5_000];

/** How webhooks are sent. */
export interface WebhookOptions {
  /** Addresses, networks and names that are reachable although they are not public: {@link ReachableAddresses}. */
  readonly allow?: readonly string[];
  /** Signs every delivery where set. */
  readonly secret?: string;
  /** How long to wait before each further try, in milliseconds. Default 500 and 5,000. */
  readonly retryAfterMs?: readonly number[];
  readonly log: Logger;
}

/**
 * Tells a run's `webhook` that the run has ended (contract 001: delivery "not shown"; the body is what the public
 * servers send: the run with its `values`, and `error` where it failed).
 *
 * Decisions: tried three times (at once, after 0.5 s, after another 5 s); a failure is logged and changes nothing else.
 * At most once per try and not remembered: who must know asks the run. Redirects are not followed, since where they
 * lead has not been allowed. Where a secret is set, a delivery carries
 * `X-Slipway-Signature: t=<unix seconds>,v1=<hex of HMAC-SHA256 over "<t>.<body>">`.
 */
export class Webhooks {
  readonly #addresses: ReachableAddresses;
  readonly #secret: string | undefined;
  readonly #retryAfterMs: readonly number[];
  readonly #log: Logger;
  readonly #dispatcher: Agent;

  /** @throws RangeError for an entry of `allow` that says nothing. */
  constructor(options: WebhookOptions) {
    this.#addresses = new ReachableAddresses(options.allow);
    this.#secret = options.secret;
    this.#retryAfterMs = options.retryAfterMs ?? RETRY_AFTER_MS;
    this.#log = options.log;
    this.#dispatcher = new Agent({ connect: { lookup: this.#addresses.lookup }, pipelining: 0 });
  }

  /** Why a webhook can never be delivered there, for who asks for it; `undefined` where it may be. */
  refusal(url: string): string | undefined {
    return this.#addresses.refusal(url);
  }

  /** Delivers a JSON body. Never throws. */
  async deliver(url: string, body: string, runId: string): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const problem = this.refusal(url) ?? (await this.#post(url, body));
      if (problem === undefined) return;
      const wait = this.#retryAfterMs[attempt];
      if (wait === undefined) {
        // The path of a webhook is often its secret.
        this.#log.warn({ runId, host: new URL(url).host, problem }, 'a webhook could not be delivered');
        return;
      }
      await delay(wait, undefined, { ref: false });
    }
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }

  /** Answers what went wrong, if anything did. */
  async #post(url: string, body: string): Promise<string | undefined> {
    try {
      const response = await request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...this.#signature(body) },
        body,
        dispatcher: this.#dispatcher,
        signal: AbortSignal.timeout(DELIVERY_TIMEOUT_MS),
      });
      await response.body.dump();
      const { statusCode: status } = response;
      if (status >= 200 && status < 300) return undefined;
      return `it answered ${status}${status >= 300 && status < 400 ? ', and redirects are not followed' : ''}`;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  #signature(body: string): Record<string, string> {
    if (this.#secret === undefined) return {};
    const at = Math.floor(Date.now() / 1_000);
    const mac = createHmac('sha256', this.#secret).update(`${at}.${body}`).digest('hex');
    return { 'x-slipway-signature': `t=${at},v1=${mac}` };
  }
}
