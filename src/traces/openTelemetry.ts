import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  type Span as OtelSpan,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  type IdGenerator,
  NodeTracerProvider,
  RandomIdGenerator,
} from '@opentelemetry/sdk-trace-node';

import type { Span, SpanAttributes, SpanStart, Tracer } from './span.ts';

/** How long ended spans may wait before they are sent, in milliseconds. A killed process loses them. */
const SEND_AFTER_MS = 1_000;
/** How long a process that ends waits for a collector that does not answer. */
const CLOSE_MS = 2_000;
const VALUE_MAX_CHARACTERS = 1_000;
const ATTRIBUTES_MAX = 64;

/** Opens a tracer that sends spans by OTLP over HTTP, as the standard variables say. */
export function openTracer(service: string): Tracer {
  const ids = new ChosenIds();
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': service }).merge(
      detectResources({ detectors: [envDetector] }),
    ),
    idGenerator: ids,
    spanLimits: { attributeValueLengthLimit: VALUE_MAX_CHARACTERS, attributeCountLimit: ATTRIBUTES_MAX },
    spanProcessors: [
      new BatchSpanProcessor(new OTLPTraceExporter(), { scheduledDelayMillis: SEND_AFTER_MS }),
    ],
  });
  provider.register();
  const tracer = provider.getTracer('slipway');
  return {
    start: ({ name, kind, attributes, parent, traceId, spanId, startedAt }) => {
      const within = parentContext({ parent, traceId });
      const options = {
        kind: KINDS[kind ?? 'internal'],
        attributes: given(attributes),
        startTime: startedAt === undefined ? undefined : new Date(startedAt),
      };
      return new OpenSpan(ids.choose({ traceId, spanId }, () => tracer.startSpan(name, options, within)));
    },
    current: () => {
      const span = trace.getActiveSpan();
      return span === undefined ? undefined : new OpenSpan(span);
    },
    close: async () => {
      const timeout = new Promise<void>((resolve) => setTimeout(resolve, CLOSE_MS).unref());
      // A collector that does not answer must not fail the traced work.
      await Promise.race([provider.shutdown().catch(() => undefined), timeout]);
    },
  };
}

const KINDS = { client: SpanKind.CLIENT, server: SpanKind.SERVER, internal: SpanKind.INTERNAL };

function parentContext({ parent, traceId }: Pick<SpanStart, 'parent' | 'traceId'>): Context {
  if (parent !== undefined) return contextOf(parent);
  return traceId === undefined ? context.active() : ROOT_CONTEXT;
}

function contextOf(traceparent: string): Context {
  return propagation.extract(ROOT_CONTEXT, { traceparent });
}

class OpenSpan implements Span {
  readonly #recorded: OtelSpan;

  constructor(recorded: OtelSpan) {
    this.#recorded = recorded;
  }

  get traceparent(): string | undefined {
    const { traceId, spanId, traceFlags } = this.#recorded.spanContext();
    if (!isSpanContextValid(this.#recorded.spanContext())) return undefined;
    return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  }

  around<T>(work: () => T): T {
    return context.with(trace.setSpan(context.active(), this.#recorded), work);
  }

  set(attributes: SpanAttributes): void {
    this.#recorded.setAttributes(given(attributes));
  }

  fail(type: string, message?: string): void {
    this.set({ 'error.type': type });
    const cut = message?.slice(0, VALUE_MAX_CHARACTERS);
    this.#recorded.setStatus({ code: SpanStatusCode.ERROR, message: cut });
  }

  end(endedAt?: string): void {
    if (!this.#recorded.isRecording()) return;
    this.#recorded.end(endedAt === undefined ? undefined : new Date(endedAt));
  }
}

function given(attributes: SpanAttributes = {}): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) => (value == null ? [] : [[name, value]])),
  );
}

/** Random ids, except for spans with given ids: these are known before they begin, or to several processes. */
class ChosenIds implements IdGenerator {
  readonly #random = new RandomIdGenerator();
  #chosen: Pick<SpanStart, 'traceId' | 'spanId'> = {};

  choose<T>(chosen: Pick<SpanStart, 'traceId' | 'spanId'>, start: () => T): T {
    this.#chosen = chosen;
    try {
      return start();
    } finally {
      this.#chosen = {};
    }
  }

  generateTraceId = (): string => this.#chosen.traceId ?? this.#random.generateTraceId();
  generateSpanId = (): string => this.#chosen.spanId ?? this.#random.generateSpanId();
}
