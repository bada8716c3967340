import { createHmac } from 'node:crypto';
import { lookup as resolveName } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import { errorText } from '@slipway/contract/codedError';
import { Networks } from '@slipway/contract/clientAddress';
import type { Logger } from 'pino';
import { Agent, type Dispatcher, ProxyAgent, request } from 'undici';

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

/**
 * Decides to which addresses webhooks may be sent. A client that creates a run chooses its webhook. Without this
 * check, the server could be made to send requests to itself, its neighbors or a cloud's metadata service.
 *
 * Decision: only public unicast addresses are allowed, and those that the agent's operator adds.
 */
export class ReachableAddresses {
  readonly #all: boolean;
  readonly #names: ReadonlySet<string>;
  readonly #networks: Networks;

  /**
   * `allowed`: further addresses, networks (`10.0.0.0/8`) and host names; `*` for all. @throws RangeError naming an
   * invalid entry.
   */
  constructor(allowed: readonly string[] = []) {
    this.#all = allowed.includes('*');
    const isName = (entry: string) => HOST_NAME.test(entry) && isIP(entry) === 0;
    this.#names = new Set(allowed.filter(isName).map((name) => name.toLowerCase()));
    this.#networks = new Networks(allowed.filter((entry) => entry !== '*' && !isName(entry)));
  }

  /** Why a URL may not be reached, as far as known without resolving its name; `undefined` if it may be. */
  refusal(url: string): string | undefined {
    const host = hostOf(url);
    if (this.#namesHost(host)) return undefined;
    if (host === 'localhost' || host.endsWith('.localhost')) return `${host} is this machine itself`;
    if (isIP(host) === 0 || this.#isAllowed(host)) return undefined;
    return `${host} is not a public address`;
  }

  /** Resolves a name to the addresses of a connection, all of which are checked and allowed; else fails. */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    resolveName(hostname, { ...options, all: true }).then(
      (addresses) => {
        const refused = this.#namesHost(hostname)
          ? undefined
          : addresses.find(({ address }) => !this.#isAllowed(address));
        const [first] = addresses;
        if (refused !== undefined) {
          callback(
            new Error(`${hostname} resolves to ${refused.address}, which is not a public address`),
            '',
          );
        } else if (options.all === true) callback(null, addresses);
        else callback(null, first?.address ?? '', first?.family);
      },
      (error: unknown) => callback(error as NodeJS.ErrnoException, ''),
    );
  };

  #namesHost(host: string): boolean {
    return this.#all || this.#names.has(host.toLowerCase());
  }

  #isAllowed(address: string): boolean {
    return this.#all || !SPECIAL_NETWORKS.contains(address) || this.#networks.contains(address);
  }
}

/** Networks outside the public internet (IANA special-purpose registries), and multicast. */
const SPECIAL_NETWORKS = new Networks([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  '::/127',
  // IPv4 inside IPv6: translated, 6to4 and Teredo addresses may lead to any of the networks above.
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
]);

const HOST_NAME = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/iu;

function hostOf(url: string): string {
  const { hostname } = new URL(url);
  return hostname
    .replace(/^\[|\]$/gu, '')
    .replace(/\.$/u, '')
    .toLowerCase();
}
