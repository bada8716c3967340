import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';

import { RUN_API_ENDPOINTS } from '@slipway/contract/runApi/endpoints';
import { echo, useAgent } from './agentUnderTest.ts';

const { agent, api } = useAgent();

/** How long requests are generated in `npm run test:fuzz`. Otherwise a fixed number of request groups is used. */
const SECONDS = Number(process.env['SLIPWAY_FUZZ_SECONDS'] || Number.NaN);
const IS_LONG = Number.isFinite(SECONDS);
const GROUPS = 120;
/** `SLIPWAY_FUZZ_SEED=<seed>`, as a failure prints it, repeats a long run, which generates other requests each time. */
const SEED = Number(process.env['SLIPWAY_FUZZ_SEED'] || (IS_LONG ? Math.trunc(Math.random() * 2 ** 30) : 1));

/** A request without an answer by then counts as hanging: no request starts a long run. */
const ANSWER_MS = 30_000;

/** The values for path parameters: the ids of threads, runs, assistants, and others. */
const ID_OF: Record<string, keyof typeof known> = { thread_id: 'T', run_id: 'R', assistant_id: 'A' };

/** Every endpoint. `T`, `R`, `A` and `C` are the ids of threads, runs, assistants and checkpoints. */
const ENDPOINTS = [
  ...Object.values(RUN_API_ENDPOINTS).map(
    ({ method, path }) => `${method} ${path.replace(/\{(\w+)\}/g, (_, name: string) => ID_OF[name] ?? 'C')}`,
  ),
  'GET /api/v1/runs/R/feedback',
];

const known = { T: [] as string[], R: [] as string[], A: ['echo', 'ask', 'parent'], C: [] as string[] };

beforeAll(async () => {
  for (let index = 0; index < 3; index++) {
    const thread = await api.thread();
    const body = { assistant_id: index === 1 ? 'ask' : 'echo', input: { text: 'x' } };
    const run = (await api.create(thread, body)) as { run_id: string };
    await api.join(thread, run.run_id);
    const state = (await api.state(thread)) as { checkpoint_id: string };
    known.T.push(thread);
    known.R.push(run.run_id);
    known.C.push(state.checkpoint_id);
  }
  const made = (await api.json('POST', '/assistants', { graph_id: 'echo' })) as { assistant_id: string };
  known.A.push(made.assistant_id);
});

const strange = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom(
    '',
    ' ',
    '..',
    '%00',
    '\0',
    '\ud800',
    'null',
    '-1',
    '1e999',
    '00000000-0000-4000-8000-000000000000',
  ),
);
const idOf = (kind: keyof typeof known) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.nat().map((index) => known[kind][index % known[kind].length] ?? '') },
    { weight: 1, arbitrary: fc.uuid() },
    { weight: 1, arbitrary: strange },
  );

const anyJson = fc.oneof(fc.jsonValue({ maxDepth: 3 }), strange);
/** Values of fields, mostly valid, for every field of some endpoint. */
const FIELDS: Record<string, fc.Arbitrary<unknown>> = {
  assistant_id: idOf('A'),
  graph_id: fc.constantFrom('echo', 'ask', 'nobody'),
  thread_id: idOf('T'),
  run_ids: fc.array(idOf('R'), { maxLength: 3 }),
  thread_ids: fc.array(fc.uuid(), { maxLength: 3 }),
  status: fc.constantFrom('pending', 'running', 'all', 'idle', 'busy', 'error', 'success'),
  action: fc.constantFrom('interrupt', 'rollback'),
  input: fc.oneof(
    fc.constant({ text: 'x' }),
    fc.constant(null),
    fc.dictionary(strange, anyJson, { maxKeys: 3 }),
  ),
  values: fc.oneof(
    fc.constant({ text: 'y' }),
    fc.dictionary(strange, anyJson, { maxKeys: 3 }),
    fc.constant(null),
  ),
  as_node: fc.constantFrom('say', 'before', '__start__', '__end__', '__copy__', 'nobody'),
  supersteps: fc.constantFrom(
    [],
    [{ updates: [{ values: { text: 'z' }, as_node: 'say' }] }],
    [{ updates: [{ values: null, as_node: '__copy__' }] }],
  ),
  command: fc.constantFrom(
    { resume: 'yes' },
    { goto: 'say' },
    { goto: 'nobody' },
    { goto: { node: 'say', input: { text: 'w' } } },
    { update: { text: 'v' } },
    { update: [['text', 'u']] },
    { update: [['nothing', 1]] },
  ),
  checkpoint_id: idOf('C'),
  checkpoint: fc.record({ checkpoint_id: idOf('C'), checkpoint_ns: strange }, { requiredKeys: [] }),
  before: idOf('C'),
  metadata: fc.dictionary(strange, anyJson, { maxKeys: 2 }),
  config: fc.record(
    {
      configurable: fc.dictionary(strange, anyJson, { maxKeys: 2 }),
      recursion_limit: fc.constantFrom(1, 5, 25),
      tags: fc.array(strange, { maxLength: 2 }),
    },
    { requiredKeys: [] },
  ),
  context: anyJson,
  stream_mode: fc.oneof(
    fc.subarray(['values', 'updates', 'messages-tuple', 'debug', 'custom', 'events']),
    fc.constantFrom('values', 'events', 'nothing'),
  ),
  stream_subgraphs: fc.boolean(),
  stream_resumable: fc.boolean(),
  subgraphs: fc.boolean(),
  feedback_keys: fc.array(strange, { maxLength: 3 }),
  multitask_strategy: fc.constantFrom('enqueue', 'reject', 'interrupt', 'rollback'),
  on_disconnect: fc.constantFrom('cancel', 'continue', '1', 'x'),
  on_completion: fc.constantFrom('delete', 'keep'),
  if_not_exists: fc.constantFrom('create', 'reject'),
  if_exists: fc.constantFrom('raise', 'do_nothing'),
  interrupt_before: fc.constantFrom('*', ['say'], ['nobody'], []),
  interrupt_after: fc.constantFrom('*', ['say'], ['nobody'], []),
  durability: fc.constantFrom('sync', 'async', 'exit'),
  checkpoint_during: fc.boolean(),
  webhook: fc.constantFrom('http://127.0.0.1:9/', 'http://10.0.0.1/', 'nothing'),
  timeout: fc.constantFrom(1, 0.001, -1),
  limit: fc.constantFrom(1, 10, 0, 1001),
  offset: fc.constantFrom(0, 1, -1),
  sort_by: fc.constantFrom('created_at', 'status', 'name', 'nothing'),
  sort_order: fc.constantFrom('asc', 'desc'),
  select: fc.subarray(['thread_id', 'values', 'name', 'nothing']),
  extract: fc.dictionary(strange, fc.constantFrom('values.text', 'values.log[-1]', '[', ''), { maxKeys: 2 }),
  strategy: fc.constantFrom('keep_latest', 'delete'),
  version: fc.constantFrom(1, 2, 0),
  name: strange,
  namespace: fc.array(strange, { maxLength: 3 }),
  namespace_prefix: fc.array(fc.constantFrom('a', 'b'), { maxLength: 2 }),
  prefix: fc.array(fc.constantFrom('a', '*'), { maxLength: 2 }),
  suffix: fc.array(fc.constantFrom('a', '*'), { maxLength: 2 }),
  max_depth: fc.constantFrom(1, 0),
  key: strange,
  value: fc.oneof(fc.dictionary(strange, anyJson, { maxKeys: 2 }), anyJson),
  filter: fc.dictionary(strange, fc.oneof(anyJson, fc.constant({ $gt: 1 }), fc.constant({ $no: 1 })), {
    maxKeys: 2,
  }),
  query: strange,
  score: fc.constantFrom(1, -1, 'x'),
  comment: strange,
  correction: anyJson,
};

const sensibleBody = fc
  .subarray(Object.keys(FIELDS), { minLength: 0, maxLength: 8 })
  .chain((names) =>
    fc.record(
      Object.fromEntries(
        [...new Set([...names, 'assistant_id', 'input'])].map((name) => [name, FIELDS[name] ?? anyJson]),
      ),
    ),
  );
const body = fc.oneof(
  { weight: 8, arbitrary: sensibleBody.map((value) => JSON.stringify(value)) },
  { weight: 1, arbitrary: fc.array(sensibleBody, { maxLength: 2 }).map((value) => JSON.stringify(value)) },
  { weight: 1, arbitrary: anyJson.map((value) => JSON.stringify(value)) },
  { weight: 1, arbitrary: strange },
);
const QUERY_NAMES = (
  'wait action cancel_on_disconnect on_disconnect stream_mode limit select namespace key xray recurse subgraphs ' +
  'score correction delete_threads before'
).split(' ');
const query = fc.array(
  fc.tuple(
    fc.constantFrom(...QUERY_NAMES),
    fc.oneof(fc.constantFrom('1', '0', 'true', 'cancel', 'rollback', 'values', 'a.b'), strange),
  ),
  { maxLength: 2 },
);
const headers = fc.constantFrom<Record<string, string>[]>(
  {},
  { 'last-event-id': '1' },
  { 'last-event-id': 'x' },
  { prefer: 'return=minimal' },
);

const request = fc.constantFrom(...ENDPOINTS).chain((endpoint) => {
  const [method = '', template = ''] = endpoint.split(' ');
  const segments = template
    .split('/')
    .map((part) => (part in known ? idOf(part as keyof typeof known) : fc.constant(part)));
  return fc.record({ method: fc.constant(method), segments: fc.tuple(...segments), query, body, headers });
});

describe('any generated request', () => {
  it(
    'is answered without a 5xx, while other requests are answered too',
    { timeout: IS_LONG ? (SECONDS + 60) * 1_000 : 120_000 },
    async () => {
      const asked = { requests: 0, taken: 0 };
      await fc.assert(
        fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 4 }), async (requests) => {
          const statuses = await Promise.all(requests.map(send));
          asked.requests += statuses.length;
          asked.taken += statuses.filter((status) => status < 300).length;
        }),
        {
          ...(IS_LONG
            ? { numRuns: 1_000_000, interruptAfterTimeLimit: SECONDS * 1_000 }
            : { numRuns: GROUPS }),
          endOnFailure: true,
          seed: SEED,
        },
      );
      // Only refusals would test little.
      expect(asked.taken).toBeGreaterThan(asked.requests / 20);
      expect(await api.json('GET', '/ok')).toEqual({ ok: true });
      expect(await api.wait(undefined, echo('on'))).toMatchObject({
        text: 'echo: on',
      });
      expect(agent().stderr()).not.toContain('a request failed');
    },
  );
});

async function send(made: {
  method: string;
  segments: string[];
  query: [string, string][];
  body: string;
  headers: Record<string, string>;
}): Promise<number> {
  const path = made.segments.map((part) => encodeURIComponent(wellFormed(part))).join('/');
  const search = new URLSearchParams(
    made.query.map(([name, value]): [string, string] => [name, wellFormed(value)]),
  );
  // Dots in a path are resolved first, so the requested address may be another one.
  const url = new URL(`${agent().url}${path}?${search.toString()}`);
  const response = await fetch(url, {
    method: made.method,
    headers: { 'content-type': 'application/json', ...made.headers },
    ...(made.method !== 'GET' && { body: made.body }),
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  const text = /\/threads\/[^/]+\/stream$/.test(url.pathname) ? await leave(response) : await response.text();
  if (response.status >= 500) throw new Error(`${made.method} ${path}: ${response.status} ${text}`);
  return response.status;
}

/** An address cannot contain half a surrogate pair. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '');
}

/** A thread's stream has no end. */
async function leave(response: Response): Promise<string> {
  if (!response.ok) return response.text();
  await response.body?.cancel();
  return '';
}
