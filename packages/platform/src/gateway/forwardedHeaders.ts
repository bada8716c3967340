import type { IncomingMessage } from 'node:http';

/** Headers that belong to one connection, not to the message (RFC 9110, section 7.6.1, and their forerunners). */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Replaced on the way in: the agent's own host, and what this gateway knows better than the client. */
const REPLACED = new Set([
  'host',
  'expect',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-prefix',
]);

/** The response header that names the revision that answered. */
const REVISION_HEADER = 'x-slipway-revision-id';

/**
 * A request's headers as the agent gets them: without hop-by-hop headers, with `x-forwarded-for` (the client's
 * address added to what was there), `-host`, `-proto` (kept from a proxy before this one) and `-prefix` (the
 * path that was taken off). With an `agentKey`, the credentials that the client showed the platform stay here, and the
 * agent is shown that key instead. Flat: name, value, name, value, repetitions kept.
 */
export function requestHeaders(
  request: IncomingMessage,
  { prefix, agentKey }: { readonly prefix: string; readonly agentKey?: string | undefined },
): string[] {
  const { headers, socket } = request;
  const replaced = new Set([...REPLACED, ...(agentKey === undefined ? [] : platformCredentials(request))]);
  const kept = endToEnd(request.rawHeaders, headers.connection).filter(
    ([name]) => !replaced.has(name.toLowerCase()),
  );
  const passedBy = [headers['x-forwarded-for'], socket.remoteAddress].flat().filter(Boolean).join(', ');
  const host = first(headers['x-forwarded-host']) ?? headers.host;
  return [
    ...kept.flat(),
    ...(agentKey === undefined ? [] : ['x-api-key', agentKey]),
    ...(passedBy === '' ? [] : ['x-forwarded-for', passedBy]),
    ...(host === undefined ? [] : ['x-forwarded-host', host]),
    'x-forwarded-proto',
    first(headers['x-forwarded-proto']) ?? 'http',
    'x-forwarded-prefix',
    prefix,
  ];
}

/** Which headers were for the platform: `Authorization` only where it stood in for the key, else it is the agent's. */
function platformCredentials({ headers }: IncomingMessage): string[] {
  const own = ['x-api-key', 'x-tenant-id'];
  return (first(headers['x-api-key']) ?? '') === '' ? [...own, 'authorization'] : own;
}

/** An agent's response headers as the client gets them: end-to-end ones, and the revision that answered. */
export function responseHeaders(raw: readonly (Buffer | string)[], revisionId: string): string[] {
  const flat = raw.map((part) => (typeof part === 'string' ? part : part.toString('latin1')));
  const connection = pairs(flat)
    .filter(([name]) => name.toLowerCase() === 'connection')
    .map(([, value]) => value)
    .join(',');
  const kept = endToEnd(flat, connection).filter(([name]) => name.toLowerCase() !== REVISION_HEADER);
  return [...kept.flat(), REVISION_HEADER, revisionId];
}

function endToEnd(flat: readonly string[], connection: string | undefined): [string, string][] {
  const named = new Set((connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  return pairs(flat).filter(([name]) => {
    const lower = name.toLowerCase();
    return !HOP_BY_HOP.has(lower) && !named.has(lower);
  });
}

function pairs(flat: readonly string[]): [string, string][] {
  const list: [string, string][] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) list.push([flat[i] ?? '', flat[i + 1] ?? '']);
  return list;
}

function first(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
