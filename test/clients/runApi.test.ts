import { describe, expect, it, onTestFinished } from 'vitest';

import { createRunApiClient, type RunApiClient } from '../../src/clients/runApi.ts';
import { RUN_API_ENDPOINTS } from '@slipway/contract/runApi/endpoints';
import { type FaultyService, json, startService } from './faultyService.ts';

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
const RUN_BODY = {
  run_id: RUN,
  thread_id: THREAD,
  assistant_id: RUN,
  created_at: NOW,
  updated_at: NOW,
  metadata: {},
  status: 'pending',
  kwargs: { input: {} },
  multitask_strategy: 'reject',
};
const STATE = {
  values: { messages: [] },
  next: [],
  tasks: [],
  metadata: { step: 1 },
  created_at: NOW,
  checkpoint_id: 'c2',
  parent_checkpoint_id: 'c1',
};
const ASSISTANT = { assistant_id: RUN, graph_id: 'agent' };
const VALUES = { messages: [{ content: 'hi' }] };

function client(service: FaultyService): RunApiClient {
  const made = createRunApiClient({ baseUrl: `${service.url}/agents/x`, apiKey: 'the-key' });
  onTestFinished(() => made.close());
  return made;
}

type Name = Exclude<keyof typeof RUN_API_ENDPOINTS, 'submitFeedback' | 'submitFeedbackByQuery'>;
type Call = (api: RunApiClient) => Promise<unknown>;
const CALLS: [Name, Call, { url: string; body?: unknown; answer?: unknown; result?: unknown }][] = [
  ['createThread', (api) => api.createThread(), { url: '/threads', body: {}, answer: THREAD_BODY }],
  ['getThread', (api) => api.getThread(THREAD), { url: `/threads/${THREAD}`, answer: THREAD_BODY }],
  [
    'patchThread',
    (api) => api.patchThread(THREAD, { metadata: { a: 1 } }),
    { url: `/threads/${THREAD}`, body: { metadata: { a: 1 } }, answer: THREAD_BODY },
  ],
  ['deleteThread', (api) => api.deleteThread(THREAD), { url: `/threads/${THREAD}` }],
  [
    'searchThreads',
    (api) => api.searchThreads({ status: 'idle' }),
    { url: '/threads/search', body: { status: 'idle' }, answer: [THREAD_BODY] },
  ],
  ['getThreadState', (api) => api.getThreadState(THREAD), { url: `/threads/${THREAD}/state`, answer: STATE }],
  [
    'updateThreadState',
    (api) => api.updateThreadState(THREAD, { values: { a: 1 }, as_node: 'n' }),
    {
      url: `/threads/${THREAD}/state`,
      body: { values: { a: 1 }, as_node: 'n' },
      answer: { checkpoint: { checkpoint_id: 'c3' } },
    },
  ],
  [
    'getThreadHistory',
    (api) => api.getThreadHistory(THREAD, { limit: 2 }),
    { url: `/threads/${THREAD}/history`, body: { limit: 2 }, answer: [STATE] },
  ],
  [
    'createRun',
    (api) => api.createRun(THREAD, { ...BODY, multitask_strategy: 'enqueue', feedback_keys: ['score'] }),
    {
      url: `/threads/${THREAD}/runs`,
      body: { ...BODY, multitask_strategy: 'enqueue', feedback_keys: ['score'] },
      answer: RUN_BODY,
    },
  ],
  [
    'createStatelessRun',
    (api) => api.createStatelessRun(BODY),
    { url: '/runs', body: BODY, answer: RUN_BODY },
  ],
  [
    'listRuns',
    (api) => api.listRuns(THREAD, { status: 'running', limit: 3 }),
    { url: `/threads/${THREAD}/runs?status=running&limit=3`, answer: [] },
  ],
  ['getRun', (api) => api.getRun(THREAD, RUN), { url: `/threads/${THREAD}/runs/${RUN}`, answer: RUN_BODY }],
  ['deleteRun', (api) => api.deleteRun(THREAD, RUN), { url: `/threads/${THREAD}/runs/${RUN}` }],
  [
    'joinRun',
    (api) => api.joinRun(THREAD, RUN, { cancelOnDisconnect: true }),
    {
      url: `/threads/${THREAD}/runs/${RUN}/join?cancel_on_disconnect=cancel`,
      answer: VALUES,
      result: { output: VALUES, failure: undefined, runId: RUN, threadId: THREAD },
    },
  ],
  [
    'waitRun',
    (api) => api.waitRun(THREAD, { ...BODY, on_disconnect: 'cancel' }),
    {
      url: `/threads/${THREAD}/runs/wait`,
      body: { ...BODY, on_disconnect: 'cancel' },
      answer: VALUES,
      result: { output: VALUES, failure: undefined, runId: RUN, threadId: THREAD },
    },
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
        runId: RUN,
        threadId: THREAD,
      },
    },
  ],
  [
    'cancelRun',
    (api) => api.cancelRun(THREAD, RUN, { action: 'rollback', wait: true }),
    { url: `/threads/${THREAD}/runs/${RUN}/cancel?action=rollback&wait=true` },
  ],
  [
    'cancelRuns',
    (api) => api.cancelRuns({ status: 'all' }, 'rollback'),
    { url: '/runs/cancel?action=rollback', body: { status: 'all' } },
  ],
  [
    'streamRun',
    async (api) => (await api.streamRun(THREAD, { ...BODY, stream_mode: ['values', 'updates'] })).runId,
    {
      url: `/threads/${THREAD}/runs/stream`,
      body: { ...BODY, stream_mode: ['values', 'updates'] },
      result: RUN,
    },
  ],
  [
    'streamStatelessRun',
    async (api) => (await api.streamStatelessRun({ ...BODY, stream_subgraphs: true })).runId,
    { url: '/runs/stream', body: { ...BODY, stream_subgraphs: true }, result: RUN },
  ],
  [
    'joinRunStream',
    async (api) => (await api.joinRunStream(THREAD, RUN, { streamModes: ['values', 'debug'] })).runId,
    { url: `/threads/${THREAD}/runs/${RUN}/stream?stream_mode=values&stream_mode=debug`, result: RUN },
  ],
  [
    'searchAssistants',
    (api) => api.searchAssistants({ graph_id: 'agent' }),
    { url: '/assistants/search', body: { graph_id: 'agent' }, answer: [ASSISTANT] },
  ],
  ['getAssistant', (api) => api.getAssistant('agent'), { url: '/assistants/agent', answer: ASSISTANT }],
  ['getOk', (api) => api.ok(), { url: '/ok', answer: { ok: true }, result: undefined }],
  ['getInfo', (api) => api.info(), { url: '/info', answer: { version: '1' } }],
];

describe('The Run API client', () => {
  it.each(CALLS)('calls %s as the contract has it, once, with the key', async (name, call, expected) => {
    const endpoint = RUN_API_ENDPOINTS[name];
    const service = await startService((_, response) => {
      const headers = { 'content-location': `/threads/${THREAD}/runs/${RUN}` };
      if (endpoint.response === 'stream') {
        response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' }).end();
      } else if (expected.answer === undefined) response.writeHead(endpoint.success, headers).end();
      else json(response, endpoint.success, expected.answer, headers);
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

  it('has a call for every endpoint of the contract, except feedback links, which are called by their URL', () => {
    const called = new Set<string>(CALLS.map(([name]) => name));
    const ofContract = Object.entries(RUN_API_ENDPOINTS)
      .filter(([, { section, service }]) => section.startsWith('contract') && service === 'runApi')
      .map(([name]) => name);
    expect(ofContract.filter((name) => !called.has(name))).toEqual([]);
  });

  it('encodes any name of an assistant as one segment of the path', async () => {
    const service = await startService((_, response) => json(response, 200, ASSISTANT));
    await client(service).getAssistant('a/b ?#');
    expect(service.requests[0]?.url).toBe('/agents/x/assistants/a%2Fb%20%3F%23');
    await expect(client(service).getAssistant('..')).rejects.toMatchObject({ code: 'SLIPWAY_REFUSED' });
    expect(service.requests).toHaveLength(1);
  });

  it('waits longer for a run than for other calls', async () => {
    const service = await startService((_, response) => {
      setTimeout(() => json(response, 200, VALUES), 120);
    });
    const api = createRunApiClient({ baseUrl: service.url, timeoutMs: 40 });
    onTestFinished(() => api.close());
    expect((await api.waitRun(THREAD, BODY)).output).toEqual(VALUES);
    expect((await api.joinRun(THREAD, RUN)).output).toEqual(VALUES);
    await expect(api.getRun(THREAD, RUN)).rejects.toMatchObject({ code: 'SLIPWAY_NO_ANSWER' });
    await expect(api.joinRun(THREAD, RUN, { timeoutMs: 30 })).rejects.toMatchObject({
      code: 'SLIPWAY_NO_ANSWER',
    });
  });

  it('ignores the blanks that a service sends to keep a waiting connection alive', async () => {
    const service = await startService((_, response) => {
      response.write('\n');
      response.write('   ');
      response.end(JSON.stringify(VALUES));
    });
    expect((await client(service).joinRun(THREAD, RUN)).output).toEqual(VALUES);
  });

  it('reads answers of the public servers: nested checkpoint ids, and absent values', async () => {
    const { checkpoint_id, parent_checkpoint_id, ...rest } = STATE;
    const { values: _, ...thread } = THREAD_BODY;
    const service = await startService(({ url }, response) =>
      json(
        response,
        200,
        url.endsWith('/state')
          ? {
              ...rest,
              checkpoint: { checkpoint_id },
              parent_checkpoint: { checkpoint_id: parent_checkpoint_id },
            }
          : thread,
      ),
    );
    expect(await client(service).getThreadState(THREAD)).toMatchObject({
      checkpoint_id,
      parent_checkpoint_id,
    });
    expect((await client(service).getThread(THREAD)).values).toBeNull();
  });
});
