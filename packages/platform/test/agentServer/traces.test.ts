import { Hono } from 'hono';
import { expect, it } from 'vitest';

import { type AgentSpans, traceOf, traceRequests } from '../../src/agentServer/traces/agentSpans.ts';
import { packTraces, takeTraces, withTraceVariables } from '../../src/agentServer/traces/traceVariables.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = `00-${TRACE}-00f067aa0ba902b7-01`;

it('a request with a trace has a span named after its route, with its work below', async () => {
  const made: { name: string; parent: string; attributes: Record<string, unknown>; ended: boolean }[] = [];
  const spans: AgentSpans = {
    start: ({ name, parent, attributes }) => {
      const span = { name, parent, attributes: { ...attributes }, ended: false };
      made.push(span);
      return {
        traceparent: `00-${TRACE}-000000000000000${made.length}-01`,
        rename: (to) => (span.name = to),
        set: (more) => void Object.assign(span.attributes, more),
        fail: () => undefined,
        end: () => (span.ended = true),
      };
    },
    close: () => Promise.resolve(),
  };
  const app = new Hono();
  app.use(traceRequests(spans));
  const traces: (string | undefined)[] = [];
  app.post('/threads/:thread_id/runs', (c) => {
    traces.push(traceOf(c.req.raw));
    return c.text('', 200);
  });
  app.all('*', (c) => c.text('', 404));
  const ask = (path: string, traceparent?: string) =>
    app.request(path, { method: 'POST', headers: traceparent === undefined ? {} : { traceparent } });
  await ask('/threads/of-a-customer/runs', CALLER);
  await ask('/threads/of-a-customer/runs');
  await ask('/threads/of-a-customer/runs', 'nonsense');
  expect(traces).toEqual([`00-${TRACE}-0000000000000001-01`, undefined, undefined]);
  expect(made).toEqual([
    {
      name: 'POST /threads/{thread_id}/runs',
      parent: CALLER,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/threads/{thread_id}/runs',
        'http.response.status_code': 200,
      },
      ended: true,
    },
  ]);
});

it('the platform’s variables are removed from the environment before the agent’s code runs', () => {
  Object.assign(process.env, packTraces({ OTEL_EXPORTER_OTLP_HEADERS: 'key=secret' }), { OTEL_OWN: 'agent' });
  try {
    const variables = takeTraces();
    expect(JSON.stringify(process.env)).not.toContain('key=secret');
    const seen = withTraceVariables(variables ?? {}, () => ({ ...process.env }));
    expect(seen).toMatchObject({ OTEL_EXPORTER_OTLP_HEADERS: 'key=secret' });
    expect(seen).not.toHaveProperty('OTEL_OWN');
    expect(process.env['OTEL_OWN']).toBe('agent');
    expect(process.env).not.toHaveProperty('OTEL_EXPORTER_OTLP_HEADERS');
  } finally {
    Reflect.deleteProperty(process.env, 'OTEL_OWN');
  }
});
