import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import { errorText } from '@slipway/contract/codedError';
import type { Logger } from 'pino';
import { Agent, type Dispatcher, ProxyAgent, request } from 'undici';

import { ReachableAddresses } from './reachableAddresses.ts';

const DELIVERY_TIMEOUT_MS = 10_000;

const RETRY_AFTER_MS = [500, 5_000];

export interface WebhookOptions {
  /** Non-public addresses, networks and names to allow: {@link ReachableAddresses}. */
  readonly allow?: readonly string[];
  /** If set, signs every delivery. */
  readonly secret?: string;
  /** The outbound proxy, which resolves names and blocks forbidden targets. Default: none. */
  readonly proxy?: string;
  /** The delay before each retry, in milliseconds. Default 500 and 5,000. */
  readonly retryAfterMs?: readonly number[];
  readonly log: Logger;
}

/**
 * Notifies a run's `webhook` that the run has ended (contract 001: delivery "not shown"). The body is the one of the
 * public servers: the run with its `values`, and `error` if it failed.
 *
 * Decisions: three attempts (at once, after 0.5 s, after another 5 s), again at the times of `pendingWebhooks.ts`; a
 * failure is only logged. Redirects are not followed, because their targets are not checked. With a secret, a delivery has
 * `X-Slipway-Signature: t=<unix seconds>,v1=<hex of HMAC-SHA256 over "<t>.<body>">`.
 */
export class Webhooks {
  readonly #options: WebhookOptions;
  readonly #addresses: ReachableAddresses;
  readonly #dispatcher: Dispatcher;

  /** @throws RangeError for an invalid entry of `allow`. */
  constructor(options: WebhookOptions) {
    this.#options = options;
    this.#addresses = new ReachableAddresses(options.allow);
    this.#dispatcher =
      options.proxy === undefined
        ? new Agent({ connect: { lookup: this.#addresses.lookup }, pipelining: 0 })
        : new ProxyAgent(options.proxy);
  }

  /** Why a webhook can never be delivered there, for the client that requests it; `undefined` if it may be. */
  refusal(url: string): string | undefined {
    return this.#addresses.refusal(url);
  }

  /** Delivers a JSON body. False if no attempt succeeds. Never throws. */
  async deliver(url: string, body: string, runId: string): Promise<boolean> {
    const { log, retryAfterMs = RETRY_AFTER_MS } = this.#options;
    for (let attempt = 0; ; attempt++) {
      const problem = this.refusal(url) ?? (await this.#post(url, body));
      if (problem === undefined) return true;
      const wait = retryAfterMs[attempt];
      if (wait === undefined) {
        // The path of a webhook often contains a secret, so only the host is logged.
        log.warn({ runId, host: new URL(url).host, problem }, 'a webhook could not be delivered');
        return false;
      }
      await delay(wait, undefined, { ref: false });
    }
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }

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
      return errorText(error);
    }
  }

  #signature(body: string): Record<string, string> {
    const { secret } = this.#options;
    if (secret === undefined) return {};
    const at = Math.floor(Date.now() / 1_000);
    const mac = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex');
    return { 'x-slipway-signature': `t=${at},v1=${mac}` };
  }
}
