import fc from 'fast-check';

import type { Endpoint } from '@slipway/contract/endpoint';
import { garbage, mostly, mutated, mutation } from './mutations.ts';
import { rightBodies } from './rightBodies.ts';
import type { Known } from './stock.ts';

/** One generated request. A text body is sent unchanged. */
export interface FuzzedRequest {
  readonly method: string;
  /** Placeholders for real ids, such as `{listener_id:3}`, are filled in before sending (`Stock.resolve`). */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** Requests to one endpoint: valid ones with one or several changes, and garbage. */
export function requestsTo(name: string, endpoint: Endpoint, known: Known): fc.Arbitrary<FuzzedRequest> {
  const segments = endpoint.path
    .split('/')
    .map((part) => (part.startsWith('{') ? placeOf(part.slice(1, -1)) : fc.constant(part)));
  const path = fc.tuple(...segments).map((parts) => parts.join('/'));
  const body = endpoint.method === 'GET' ? fc.constant(undefined) : bodies(rightBodies(known)[name]);
  const asked = name === 'deleteDeployments' ? idsAsked : query;
  return fc.tuple(path, asked, headers, body).map(([bare, parameters, sent, text]) => ({
    method: endpoint.method,
    path: `${bare}${parameters}`,
    headers: sent,
    body: text,
  }));
}

/** Mostly a real id; else an unknown id, or an invalid one. */
function placeOf(name: string): fc.Arbitrary<string> {
  const real = fc.nat(1_000).map((number) => `{${name}:${number}}`);
  const none = fc.constantFrom('x', '%00', '%2e%2e', 'null', '0'.repeat(300), '%F0%9F%9A%80');
  return mostly(7, real, fc.uuid(), none);
}

function bodies(right: fc.Arbitrary<unknown> | undefined): fc.Arbitrary<string | undefined> {
  const asText = (value: unknown): string | undefined => JSON.stringify(value);
  const anything = fc.oneof(
    garbage.map(asText),
    fc.string({ maxLength: 50 }),
    fc.constant(undefined),
    fc.constantFrom('{', '[]', '""', '{"a":'.repeat(2_000), '['.repeat(20_000), '{"__proto__":{"name":"x"}}'),
  );
  if (right === undefined) return anything;
  return fc.oneof(
    { weight: 4, arbitrary: right.map(asText) },
    {
      weight: 6,
      arbitrary: fc
        .tuple(right, fc.array(mutation, { minLength: 1, maxLength: 3 }))
        .map(([body, mutations]) => asText(mutations.reduce<unknown>(mutated, body))),
    },
    { weight: 1, arbitrary: anything },
  );
}

const QUERY_NAMES =
  'limit offset status name_contains stage order delete_tracing_project revoked operation resource_id outcome since x'.split(
    ' ',
  );
const queryValue = fc.oneof(
  fc.constantFrom(
    ...'1 100 101 0 -1 1.5 true asc desc DEPLOYED,QUEUED build done %00 2147483648'.split(' '),
    ...['2026-01-01T00:00:00Z', '999999-01-01T00:00:00Z', '9'.repeat(18), ''],
  ),
  fc
    .string({ unit: 'binary', maxLength: 8 })
    .map((text) => encodeURIComponent(text.replaceAll(/\p{Surrogate}/gu, ''))),
);
const query = fc
  .array(fc.tuple(fc.constantFrom(...QUERY_NAMES), queryValue), { maxLength: 3 })
  .map((pairs) => (pairs.length === 0 ? '' : `?${pairs.map((pair) => pair.join('=')).join('&')}`));

/** Several ids in one query: the same name several times, or commas between them. */
const idsAsked = fc
  .tuple(
    fc.array(placeOf('deployment_id'), { maxLength: 3 }),
    fc.constantFrom(',', '&deployment_ids=', '%2C%20'),
    query,
  )
  .map(([ids, between, rest]) => `${rest === '' ? '?' : `${rest}&`}deployment_ids=${ids.join(between)}`);

const strangeHeaders = fc.record(
  {
    'idempotency-key': fc.constantFrom('k', '""', '"q"', 'x'.repeat(300), 'a key', '"\\"'),
    'last-event-id': fc.constantFrom('1', 'x', '9'.repeat(30)),
    'content-type': fc.constantFrom('application/json', 'text/plain', 'x/y;z'),
    'x-tenant-id': fc.constantFrom('11111111-1111-4111-8111-111111111111', 'x', ''),
    accept: fc.constantFrom('*/*', 'text/event-stream'),
  },
  { requiredKeys: [] },
);
/** Mostly none, because a body is read only if the headers are valid. */
const headers = mostly(8, {}, strangeHeaders);
