/**
 * Spans of calls. Nothing of OpenTelemetry is loaded before {@link startTraces} finds that the environment
 * asks for traces, and without it everything here costs a function call.
 */

import type { Span, SpanAttributes, SpanStart, Tracer } from './span.ts';

type Environment = Readonly<Record<string, string | undefined>>;

let tracer: Tracer | undefined;

/**
 * Starts making spans, where the standard variables ask for it: an endpoint is named
 * (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`), and `OTEL_SDK_DISABLED` and
 * `OTEL_TRACES_EXPORTER=none` do not forbid it.
 *
 * @param service - what this process is called, unless `OTEL_SERVICE_NAME` says otherwise.
 * @returns sends what is left, and ends it.
 */
export async function startTraces(environment: Environment, service: string): Promise<() => Promise<void>> {
  if (!isTraced(environment)) return () => Promise.resolve();
  const { openTracer } = await import('./openTelemetry.ts');
  const opened = openTracer(service);
  tracer = opened;
  return async () => {
    tracer = undefined;
    await opened.close();
  };
}

/** Whether the environment asks for traces. */
export function isTraced(environment: Environment): boolean {
  const {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint = '',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: tracesEndpoint = '',
    OTEL_TRACES_EXPORTER: exporter = 'otlp',
    OTEL_SDK_DISABLED: disabled = '',
  } = environment;
  if (disabled.toLowerCase() === 'true' || !exporter.split(',').includes('otlp')) return false;
  return endpoint !== '' || tracesEndpoint !== '';
}

/** The variables by which other processes send their spans to the same place; `undefined`: no traces are asked for. */
export function traceVariables(environment: Environment): Readonly<Record<string, string>> | undefined {
  if (!isTraced(environment)) return undefined;
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      name.startsWith('OTEL_') && name !== 'OTEL_SERVICE_NAME' && value !== undefined ? [[name, value]] : [],
    ),
  );
}

/** Begins a span, to be ended by the caller. */
export function startSpan(span: SpanStart): Span {
  return tracer?.start(span) ?? NONE;
}

/** Runs work in a span of its own. The work reports its own failures to the span. */
export async function inSpan<T>(start: SpanStart, work: (span: Span) => Promise<T>): Promise<T> {
  if (tracer === undefined) return work(NONE);
  const span = tracer.start(start);
  try {
    return await tracer.within(span, () => work(span));
  } finally {
    span.end();
  }
}

/** The `traceparent` of the span within which the caller runs; `undefined`: it runs in none. */
export function currentTrace(): string | undefined {
  return tracer?.current()?.traceparent;
}

/** Adds to the span within which the caller runs. */
export function describeSpan(attributes: SpanAttributes): void {
  tracer?.current()?.set(attributes);
}

/** The field of a request that says which span asks; empty without traces. */
export function traceField(): { readonly trace?: string } {
  const trace = currentTrace();
  return trace === undefined ? {} : { trace };
}

const NONE: Span = {
  traceparent: undefined,
  set: () => undefined,
  fail: () => undefined,
  end: () => undefined,
};
