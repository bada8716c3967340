/** Spans of calls. Without traces, OpenTelemetry is not loaded. */

import type { Span, SpanAttributes, SpanStart, Tracer } from './span.ts';

type Environment = Readonly<Record<string, string | undefined>>;

let tracer: Tracer | undefined;

/**
 * Starts tracing if the standard variables request it: an endpoint is set (`OTEL_EXPORTER_OTLP_ENDPOINT`,
 * `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`), and neither `OTEL_SDK_DISABLED` nor `OTEL_TRACES_EXPORTER=none` disables it.
 * @param service - the service name, unless `OTEL_SERVICE_NAME` is set.
 * @returns a function that sends the remaining spans and stops tracing.
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

/** The variables for other processes to send their spans to the same place; `undefined` without traces. */
export function traceVariables(environment: Environment): Readonly<Record<string, string>> | undefined {
  if (!isTraced(environment)) return undefined;
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      name.startsWith('OTEL_') && name !== 'OTEL_SERVICE_NAME' && value !== undefined ? [[name, value]] : [],
    ),
  );
}

/** Starts a span, which the caller must end. */
export function startSpan(span: SpanStart): Span {
  return tracer?.start(span) ?? NONE;
}

/** Runs work in a span. The work reports its own failures to the span. */
export async function inSpan<T>(start: SpanStart, work: (span: Span) => Promise<T>): Promise<T> {
  const span = startSpan(start);
  try {
    return await span.around(() => work(span));
  } finally {
    span.end();
  }
}

/** The `traceparent` of the current span; `undefined` if there is none. */
export function currentTrace(): string | undefined {
  return tracer?.current()?.traceparent;
}

/** Adds attributes to the current span. */
export function describeSpan(attributes: SpanAttributes): void {
  tracer?.current()?.set(attributes);
}

const NONE: Span = {
  traceparent: undefined,
  around: (work) => work(),
  set: () => undefined,
  fail: () => undefined,
  end: () => undefined,
};
