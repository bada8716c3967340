import { expect, it, onTestFinished } from 'vitest';

import { observeRun } from '../../src/clients/observeRun.ts';
import { createRunApiClient } from '../../src/clients/runApi.ts';
import { startService } from './faultyService.ts';

it('A run that was never sent has not taken too long', async () => {
  const service = await startService(() => undefined);
  const agent = createRunApiClient({ baseUrl: service.url, connections: 1 });
  onTestFinished(() => agent.close());
  const observe = (timeoutMs: number) =>
    observeRun(agent, { assistant: 'agent', input: {}, timeoutMs }, new AbortController().signal);
  const first = observe(500);
  await expect(observe(100)).rejects.toMatchObject({ code: 'SLIPWAY_UNREACHABLE' });
  expect((await first).run.status).toBe('timeout');
});

it.each([
  ['is larger than the limit', `{"answer":"${'x'.repeat(1_000)}"}`, 'more than 1000 characters'],
  ['is not JSON', '{"score":NaN}', 'not JSON'],
  ['is nested too deeply', `{"answer":${'['.repeat(20_000)}${']'.repeat(20_000)}}`, 'nested deeper'],
])(
  'A run whose event %s has failed, and not by the agent’s own error: it would answer the same again',
  async (_, data, problem) => {
    const service = await startService((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`event: metadata\ndata: {"run_id":"one"}\n\nevent: values\ndata: ${data}\n\n`);
    });
    const maxEventCharacters = data.startsWith('{"answer":"') ? 1_000 : undefined;
    const agent = createRunApiClient({ baseUrl: service.url, maxEventCharacters });
    onTestFinished(() => agent.close());
    const check = { assistant: 'agent', input: {}, timeoutMs: 5_000 };
    const seen = await observeRun(agent, check, new AbortController().signal);
    const error: unknown = expect.stringContaining(problem);
    expect(seen).toMatchObject({ runId: 'one', run: { status: 'unreadable', error } });
  },
);
