import { inspect } from 'node:util';

import { describe, expect, it, onTestFinished } from 'vitest';

import { RUN_API_ENDPOINTS } from '@slipway/contract/runApi/endpoints';
import {
  createFeedbackClient,
  createRunApiClient,
  type FeedbackClient,
  type RunApiClient,
} from '../../src/clients/runApi.ts';
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
    'streamStatelessRun',
    async (api) => (await api.streamStatelessRun({ ...BODY, stream_subgraphs: true })).close(),
    { url: '/runs/stream', body: { ...BODY, stream_subgraphs: true }, result: undefined },
  ],
  [
    'searchAssistants',
    (api) => api.searchAssistants({ graph_id: 'agent' }),
    { url: '/assistants/search', body: { graph_id: 'agent' }, answer: [ASSISTANT] },
  ],
  ['getOk', (api) => api.ok(), { url: '/ok', answer: { ok: true }, result: undefined }],
  ['getInfo', (api) => api.info(), { url: '/info', answer: { version: '1' } }],
];

describe('The Run API client', () => {
  it.each(CALLS)('calls %s as the contract has it, once, with the key', async (name, call, expected) => {
    const endpoint = RUN_API_ENDPOINTS[name];
    const service = await startService((_, response) => {
      if (endpoint.response === 'stream') {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end();
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

  it('waits for a run longer than for anything else', async () => {
    const service = await startService((_, response) => {
      setTimeout(() => json(response, 200, VALUES), 120);
    });
    const api = createRunApiClient({ baseUrl: service.url, timeoutMs: 40 });
    onTestFinished(() => api.close());
    expect((await api.waitStatelessRun(BODY)).output).toEqual(VALUES);
    await expect(api.info()).rejects.toMatchObject({ code: 'SLIPWAY_NO_ANSWER' });
    await expect(api.waitStatelessRun(BODY, { timeoutMs: 30 })).rejects.toMatchObject({
      code: 'SLIPWAY_NO_ANSWER',
    });
  });

  it('takes the blanks that a service sends to keep a waiting connection alive', async () => {
    const service = await startService((_, response) => {
      response.write('\n');
      response.write('   ');
      response.end(JSON.stringify(VALUES));
    });
    expect(await client(service).waitStatelessRun(BODY)).toEqual({ output: VALUES, failure: undefined });
  });
});

function feedbackClient(): FeedbackClient {
  const made = createFeedbackClient();
  onTestFinished(() => made.close());
  return made;
}

const TOKEN = 'tok-93fa-secret';

describe('A feedback link', () => {
  it('takes every field with POST, and no key', async () => {
    const service = await startService((_, response) => json(response, 200, {}));
    const feedback = {
      score: 1,
      value: 'good',
      comment: 'as expected',
      correction: { a: [1] },
      metadata: { by: 'a check' },
    };
    await feedbackClient().submit(`${service.url}/api/v1/feedback/tokens/${TOKEN}`, feedback);
    expect(service.requests[0]).toMatchObject({ method: 'POST', url: `/api/v1/feedback/tokens/${TOKEN}` });
    expect(JSON.parse(service.requests[0]?.body ?? '')).toEqual(feedback);
    expect(service.requests[0]?.headers).not.toHaveProperty('x-api-key');
  });

  it('is not shown by errors, whatever the service says', async () => {
    const service = await startService(({ url }, response) =>
      json(response, 404, { detail: `No ${url} here.` }),
    );
    const link = `${service.url}/api/v1/feedback/tokens/${TOKEN}`;
    const error: unknown = await feedbackClient()
      .submit(link, { score: 1 })
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'SLIPWAY_NOT_FOUND', path: '/api/v1/feedback/tokens/…' });
    expect(inspect(error, { depth: 9 })).not.toContain(TOKEN);
  });

  it.each(['', 'tokens/x', 'javascript:alert(1)'])('that is no http URL is refused: "%s"', async (link) => {
    await expect(feedbackClient().submit(link, {})).rejects.toMatchObject({
      code: 'SLIPWAY_REFUSED',
      mayHaveBeenTaken: false,
    });
  });
});
