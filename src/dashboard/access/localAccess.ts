import { userInfo } from 'node:os';

import { createMiddleware } from 'hono/factory';

import { SlipwayError } from '../../domain/errors.ts';
import { isLoopback } from '../loopback.ts';
import type { Access, PageEnv } from './access.ts';
import type { Viewer } from './viewer.ts';

/**
 * Access without sign-in: whoever reaches the loopback is this process's user, who may do everything.
 *
 * @throws SlipwayError SLIPWAY_USAGE if others can reach the address.
 */
export function localAccess(host: string): Access {
  if (!isLoopback(host)) {
    throw new SlipwayError('SLIPWAY_USAGE', `without sign-in, the dashboard cannot listen on ${host}`, {
      place: '--host',
      hint: 'listen on 127.0.0.1, and reach it through a tunnel: ssh -L 4701:127.0.0.1:4701 HOST',
    });
  }
  const viewer: Viewer = { name: userInfo().username, proved: false, role: 'admin' };
  return {
    requireViewer: createMiddleware<PageEnv>(async (c, next) => {
      c.set('viewer', viewer);
      await next();
    }),
  };
}
