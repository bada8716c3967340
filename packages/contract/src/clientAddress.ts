import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

/** The parts of a request that show its origin. */
export interface IncomingConnection {
  readonly headers: IncomingMessage['headers'];
  readonly socket: Pick<IncomingMessage['socket'], 'remoteAddress'>;
}

/**
 * Makes the function that finds a client's address: the peer of the connection, or, if that is a trusted proxy, the
 * last address in `X-Forwarded-For` that is no trusted proxy. The client may have forged earlier entries.
 * @param trustedProxies Addresses and networks (`10.0.0.0/8`).
 * @throws RangeError naming an entry that is neither.
 */
export function createClientAddress(
  trustedProxies: readonly string[],
): (request: IncomingConnection) => string | undefined {
  const trusted = new Networks(trustedProxies);
  return ({ headers, socket }) => {
    const forwarded = [headers['x-forwarded-for'] ?? ''].flat().join(',').split(',');
    const path = forwarded.map((entry) => entry.trim()).concat(socket.remoteAddress ?? '');
    let client: string | undefined;
    for (const address of path.reverse()) {
      if (isIP(address) === 0) break;
      client = address;
      if (!trusted.contains(address)) break;
    }
    return client;
  };
}

/** A set of addresses and networks (`10.0.0.0/8`), of IPv4 and IPv6. */
export class Networks {
  readonly #list = new BlockList();

  /** @throws RangeError naming an entry that is neither an address nor a network. */
  constructor(entries: readonly string[]) {
    for (const entry of entries) {
      // An empty prefix (`10.0.0.0/`) is an error: as a number it is 0, which stands for every address.
      const [, address = '', prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/u.exec(entry) ?? [];
      const family = isIP(address);
      const maxPrefix = family === 4 ? 32 : 128;
      const prefixBits = Number(prefix ?? maxPrefix);
      if (family === 0 || prefixBits > maxPrefix)
        throw new RangeError(`"${entry}" is neither an address nor a network`);
      this.#list.addSubnet(address, prefixBits, family === 4 ? 'ipv4' : 'ipv6');
    }
  }

  /** Whether it has an address. An IPv4 address in IPv6 notation (`::ffff:10.0.0.1`) is checked as IPv4. */
  contains(address: string): boolean {
    return this.#list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
  }
}
