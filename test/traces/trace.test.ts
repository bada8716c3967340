import { describe, expect, it } from 'vitest';

import { currentTrace, inSpan, isTraced, startSpan, startTraces } from '../../src/traces/trace.ts';

const ENDPOINT = 'http://127.0.0.1:4318';

describe('the environment’s choice of traces', () => {
  it.each([
    [{}, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT }, true],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ENDPOINT }, true],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, false],
    [{ OTEL_SERVICE_NAME: 'slipway' }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, OTEL_SDK_DISABLED: 'false' }, true],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, OTEL_TRACES_EXPORTER: 'console,otlp' }, true],
  ])('%j: %s', (environment, asks) => {
    expect(isTraced(environment)).toBe(asks);
  });
});

it('without traces there is no span, and requests carry none', async () => {
  const end = await startTraces({}, 'slipway');
  expect(startSpan({ name: 'a call' }).traceparent).toBeUndefined();
  await inSpan({ name: 'work' }, (span) => {
    span.set({ a: 1 });
    span.fail('SLIPWAY_INTERNAL');
    expect([span.traceparent, currentTrace()]).toEqual([undefined, undefined]);
    return Promise.resolve();
  });
  await end();
});
