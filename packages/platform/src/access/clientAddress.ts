import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

/** A request as far as it shows where it comes from. */
export interface Arrival {
  readonly headers: IncomingMessage['headers'];
  readonly socket: Pick<IncomingMessage['socket'], 'remoteAddress'>;
}

/**
 * Makes what finds the address of a request's client: the other end of the connection, or, if that is a trusted proxy,
 * the last address in `X-Forwarded-For` that is not one. What is before it there, the client may have made up.
 * @param trustedProxies Addresses and networks (`10.0.0.0/8`).
 * @throws RangeError naming an entry that is neither.
 */
export function createClientAddress(
  trustedProxies: readonly string[],
): (request: Arrival) => string | undefined {
  const trusted = networksOf(trustedProxies);
  return ({ headers, socket }) => {
    const forwarded = [headers['x-forwarded-for'] ?? ''].flat().join(',').split(',');
    const path = forwarded.map((entry) => entry.trim()).concat(socket.remoteAddress ?? '');
    let client: string | undefined;
    for (const address of path.reverse()) {
      if (isIP(address) === 0) break;
      client = address;
      if (!contains(trusted, address)) break;
    }
    return client;
  };
}

function networksOf(entries: readonly string[]): BlockList {
  const networks = new BlockList();
  for (const entry of entries) {
    const [address = '', prefix] = entry.split('/');
    const family = isIP(address);
    const most = family === 4 ? 32 : 128;
    const bits = Number(prefix ?? most);
    if (family === 0 || !Number.isInteger(bits) || bits < 0 || bits > most)
      throw new RangeError(`"${entry}" is neither an address nor a network.`);
    networks.addSubnet(address, bits, family === 4 ? 'ipv4' : 'ipv6');
  }
  return networks;
}

/** IPv4 addresses in IPv6 notation (`::ffff:10.0.0.1`) count as what they are. */
function contains(networks: BlockList, address: string): boolean {
  return networks.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
}
