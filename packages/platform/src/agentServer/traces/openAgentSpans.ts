import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

import type { AgentSpanAttributes, AgentSpans } from './agentSpans.ts';

/** The delay before ended spans are exported, in milliseconds. A killed process loses at most these. */
const SEND_AFTER_MS = 1_000;
/** How long a process's end waits for a collector that does not answer, in milliseconds. */
const CLOSE_MS = 2_000;

/**
 * Opens the exporter of an agent server's spans: OTLP over HTTP, configured by the standard variables. It registers
 * nothing globally, because the agent's code may trace on its own, to another collector.
 * @param identity - attributes of the process.
 */
export function openAgentSpans(identity: AgentSpanAttributes): AgentSpans {
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes(given({ 'service.name': 'slipway-agent', ...identity })).merge(
      detectResources({ detectors: [envDetector] }),
    ),
    spanProcessors: [
      new BatchSpanProcessor(new OTLPTraceExporter(), { scheduledDelayMillis: SEND_AFTER_MS }),
    ],
  });
  const tracer = provider.getTracer('slipway');
  return {
    start: ({ name, kind, parent, attributes }) => {
      const options = {
        kind: kind === 'server' ? SpanKind.SERVER : SpanKind.INTERNAL,
        attributes: given(attributes),
      };
      const span = tracer.startSpan(name, options, contextOf(parent));
      const { traceId, spanId, traceFlags } = span.spanContext();
      return {
        traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
        rename: (to) => void span.updateName(to),
        set: (more) => void span.setAttributes(given(more)),
        fail: (type) => {
          span.setAttribute('error.type', type);
          span.setStatus({ code: SpanStatusCode.ERROR });
        },
        end: () => span.end(),
      };
    },
    close: async () => {
      const timeout = new Promise<void>((resolve) => setTimeout(resolve, CLOSE_MS).unref());
      // A missing collector must not make the process fail.
      await Promise.race([provider.shutdown().catch(() => undefined), timeout]);
    },
  };
}

/** Parses the header itself, because the process has no global propagator. */
function contextOf(traceparent: string): Context {
  const [, traceId = '', spanId = '', flags = '0'] = traceparent.split('-');
  const parent: SpanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return trace.setSpanContext(ROOT_CONTEXT, parent);
}

function given(attributes: AgentSpanAttributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}
