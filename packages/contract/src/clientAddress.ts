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
  const trusted = parseNetworks(trustedProxies);
  return ({ headers, socket }) => {
    const forwarded = [headers['x-forwarded-for'] ?? ''].flat().join(',').split(',');
    const path = forwarded.map((entry) => entry.trim()).concat(socket.remoteAddress ?? '');
    let client: string | undefined;
    for (const address of path.reverse()) {
      if (isIP(address) === 0) break;
      client = address;
      // An IPv4 address in IPv6 notation (`::ffff:10.0.0.1`) is checked as IPv4.
      if (!trusted.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6')) break;
    }
    return client;
  };
}

function parseNetworks(entries: readonly string[]): BlockList {
  const networks = new BlockList();
  for (const entry of entries) {
    const [address = '', prefix] = entry.split('/');
    const family = isIP(address);
    const maxPrefix = family === 4 ? 32 : 128;
    const prefixBits = Number(prefix ?? maxPrefix);
    if (family === 0 || !Number.isInteger(prefixBits) || prefixBits < 0 || prefixBits > maxPrefix)
      throw new RangeError(`"${entry}" is neither an address nor a network.`);
    networks.addSubnet(address, prefixBits, family === 4 ? 'ipv4' : 'ipv6');
  }
  return networks;
}
