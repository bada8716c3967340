import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

import { Networks } from './networks.ts';

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
