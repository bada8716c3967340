import { lookup as resolveName } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';

import { Networks } from '@slipway/contract/clientAddress';

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
