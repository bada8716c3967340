import { isIP } from 'node:net';

import { Networks } from '@slipway/contract/networks';

const LOOPBACK = new Networks(['127.0.0.0/8', '::1']);

/** Whether only this machine can reach a host: `localhost`, 127.0.0.0/8 or `::1`. Names are not resolved. */
export function isLoopback(host: string): boolean {
  return isIP(host) === 0 ? host.toLowerCase() === 'localhost' : LOOPBACK.contains(host);
}
