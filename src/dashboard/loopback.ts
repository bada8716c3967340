import type { MiddlewareHandler } from 'hono';

/** Whether only this machine reaches an address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** A name or an address, and perhaps a port. */
const HOST = /^(?:\[(?<ip>[^\]]+)\]|(?<name>[^:]+))(?::\d+)?$/;

/**
 * Refuses requests under another name than one of the loopback: a site on the internet can have its own name lead to
 * 127.0.0.1, and its scripts could then read the page.
 */
export const requireLoopbackName: MiddlewareHandler = async (c, next) => {
  const { ip, name } = HOST.exec(c.req.header('host') ?? '')?.groups ?? {};
  if (!isLoopback(ip ?? name ?? '')) return c.text('Open this dashboard as 127.0.0.1 or localhost.', 421);
  await next();
  return undefined;
};
