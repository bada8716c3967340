import type { IncomingMessage } from 'node:http';

import type { Context, MiddlewareHandler } from 'hono';

import type { Access } from './access.ts';
import { type Origin, setCaller } from './caller.ts';

/** Middleware that lets only requests through that prove who sent them, and not too many; `callerOf` tells who it is. */
export function requireCaller(access: Access): MiddlewareHandler {
  return async (c, next) => {
    const caller = await access.authenticate({
      apiKey: c.req.header('x-api-key'),
      authorization: c.req.header('authorization'),
      tenantId: c.req.header('x-tenant-id'),
      ...originOf(c, access),
    });
    access.limit(caller);
    setCaller(c, caller);
    await next();
  };
}

/** Where a request comes from. */
export function originOf(c: Context, access: Pick<Access, 'addressOf'>): Origin {
  const env = c.env as { incoming?: IncomingMessage } | undefined;
  return {
    address: access.addressOf(env?.incoming),
    userAgent: c.req.header('user-agent') ?? null,
  };
}
