import { describe, expect, it, onTestFinished } from 'vitest';

import { createRunApiClient, type RunApiClient } from '../../src/clients/runApi.ts';
import { RUN_API_ENDPOINTS } from '@slipway/contract/runApi/endpoints';
import { answers, type FaultyService, json, startService } from './faultyService.ts';

const THREAD = '33333333-3333-4333-8333-333333333333';
const RUN = '44444444-4444-4444-8444-444444444444';
const NOW = '2026-11-21T10:00:00.123456+00:00';
const BODY = { assistant_id: 'agent', input: { messages: [] } };

const THREAD_BODY = {
  thread_id: THREAD,
  created_at: NOW,
  updated_at: NOW,
  metadata: {},
  status: 'idle',
  config: {},
  values: null,
};
const ASSISTANT = { assistant_id: RUN, graph_id: 'agent' };
const EVENTS = [{ event: 'values', data: 1 }];
const VALUES = { messages: [{ content: 'hi' }] };

function client(service: FaultyService): RunApiClient {
  const made = createRunApiClient({ baseUrl: `${service.url}/agents/x`, apiKey: 'the-key' });
  onTestFinished(() => made.close());
  return made;
}

async function collect(opening: ReturnType<RunApiClient['streamRun']>): Promise<unknown[]> {
  const events: unknown[] = [];
  for await (const event of await opening) events.push(event);
  return events;
}

type Name = keyof typeof RUN_API_ENDPOINTS;
type Call = (api: RunApiClient) => Promise<unknown>;
const CALLS: [Name, Call, { url: string; body?: unknown; answer?: unknown; result?: unknown }][] = [
  ['createThread', (api) => api.createThread({}), { url: '/threads', body: {}, answer: THREAD_BODY }],
  ['deleteThread', (api) => api.deleteThread(THREAD), { url: `/threads/${THREAD}` }],
  [
    'searchThreads',
    (api) => api.searchThreads({ status: 'idle' }),
    { url: '/threads/search', body: { status: 'idle' }, answer: [THREAD_BODY] },
  ],
  [
    'listRuns',
    (api) => api.listRuns(THREAD, { status: 'running', limit: 3 }),
    { url: `/threads/${THREAD}/runs?status=running&limit=3`, answer: [] },
  ],
  [
    'waitStatelessRun',
    (api) => api.waitStatelessRun(BODY),
    {
      url: '/runs/wait',
      body: BODY,
      answer: { __error__: { error: 'Error', message: 'It broke' } },
      result: {
        output: { __error__: { error: 'Error', message: 'It broke' } },
        failure: { error: 'Error', message: 'It broke' },
      },
    },
  ],
  [
    'streamRun',
    (api) => collect(api.streamRun(THREAD, { ...BODY, stream_mode: ['values', 'updates'] })),
    {
      url: `/threads/${THREAD}/runs/stream`,
      body: { ...BODY, stream_mode: ['values', 'updates'] },
      result: EVENTS,
    },
  ],
  [
    'streamStatelessRun',
    (api) => collect(api.streamStatelessRun({ ...BODY, stream_subgraphs: true })),
    { url: '/runs/stream', body: { ...BODY, stream_subgraphs: true }, result: EVENTS },
  ],
  [
    'searchAssistants',
    (api) => api.searchAssistants({ graph_id: 'agent' }),
    { url: '/assistants/search', body: { graph_id: 'agent' }, answer: [ASSISTANT] },
  ],
  ['getOk', (api) => api.ok(), { url: '/ok', answer: { ok: true }, result: undefined }],
];

describe('The Run API client', () => {
  it.each(CALLS)('calls %s as the contract has it, once, with the key', async (name, call, expected) => {
    const endpoint = RUN_API_ENDPOINTS[name];
    const service = await startService((_, response) => {
      if (endpoint.response === 'stream') {
        response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end('event: values\ndata: 1\nid: 7\n\n');
      } else if (expected.answer === undefined) response.writeHead(endpoint.success).end();
      else json(response, endpoint.success, expected.answer);
    });
    const result = await call(client(service));
    if ('result' in expected) expect(result).toEqual(expected.result);
    else if (expected.answer === undefined) expect(result).toBeUndefined();
    else expect(result).toMatchObject(expected.answer as object);
    expect(service.requests).toHaveLength(1);
    const [request] = service.requests;
    expect(request).toMatchObject({ method: endpoint.method, url: `/agents/x${expected.url}` });
    expect(request?.headers['x-api-key']).toBe('the-key');
    expect(request?.body).toBe(expected.body === undefined ? '' : JSON.stringify(expected.body));
  });

  it('refuses an id that leads to another path, before anything is sent', async () => {
    const service = await startService((_, response) => response.writeHead(204).end());
    await expect(client(service).deleteThread('..')).rejects.toMatchObject({ code: 'SLIPWAY_REFUSED' });
    expect(service.requests).toHaveLength(0);
  });

  it('ignores the blanks that a service sends to keep a waiting connection alive', async () => {
    const service = await startService((_, response) => {
      response.write('\n');
      response.write('   ');
      response.end(JSON.stringify(VALUES));
    });
    expect((await client(service).waitStatelessRun(BODY)).output).toEqual(VALUES);
  });

  it('reads threads of the public servers, whose values may be absent', async () => {
    const { values: _, ...thread } = THREAD_BODY;
    const service = await startService(answers(200, [thread]));
    expect(await client(service).searchThreads({})).toMatchObject([{ values: null }]);
  });
});
