import { type IncomingMessage } from 'node:http';

import { type Context, type MiddlewareHandler } from 'hono';

import { type Access } from './access.ts';
import { setCaller } from './caller.ts';

/** Middleware that lets only requests through that prove who sent them, and not too many; `callerOf` tells who it is. */
export function requireCaller(access: Access): MiddlewareHandler {
  return async (c, next) => {
    const caller = await access.authenticate({
      apiKey: c.req.header('x-api-key'),
      authorization: c.req.header('authorization'),
      tenantId: c.req.header('x-tenant-id'),
      address: addressOf(c),
      userAgent: c.req.header('user-agent') ?? null,
    });
    access.limit(caller);
    setCaller(c, caller);
    await next();
  };
}

/** The other end of the connection; requests made inside the process have none. */
function addressOf(c: Context): string | null {
  const env = c.env as { incoming?: IncomingMessage } | undefined;
  return env?.incoming?.socket.remoteAddress ?? null;
}
