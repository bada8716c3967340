import type { MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';

import { validTrace } from '../../http/answeredRequests.ts';
import type { LiveRun } from '../runs/liveRun.ts';

/** Attributes of a span. `undefined` ones are left out. */
export type AgentSpanAttributes = Readonly<Record<string, string | number | undefined>>;

interface AgentSpan {
  readonly traceparent: string;
  rename(name: string): void;
  set(attributes: AgentSpanAttributes): void;
  /** @param type - a status, or the name of an error; no text from the agent. */
  fail(type: string): void;
  end(): void;
}

/** Makes the spans of an agent server (`openAgentSpans.ts`). */
export interface AgentSpans {
  start(span: {
    readonly name: string;
    /** `server`: a request; `internal`: a run. */
    readonly kind: 'server' | 'internal';
    /** The parent span, as a W3C `traceparent`. */
    readonly parent: string;
    readonly attributes: AgentSpanAttributes;
  }): AgentSpan;
  /** Exports the ended spans. Never throws. */
  close(): Promise<void>;
}

/** The trace context of a request in its handler: its own span's, else the caller's. */
const TRACES = new WeakMap<Request, string>();

/** The trace context of a request; `undefined` if it has none. */
export function traceOf(request: Request): string | undefined {
  return TRACES.get(request) ?? validTrace(request.headers.get('traceparent') ?? undefined);
}

/** Makes a span for each request with a trace, until its response begins. */
export function traceRequests(spans: AgentSpans): MiddlewareHandler {
  return async (c, next) => {
    const parent = validTrace(c.req.header('traceparent'));
    if (parent === undefined) return next();
    const { method } = c.req;
    const span = spans.start({
      name: method,
      kind: 'server',
      parent,
      attributes: { 'http.request.method': method },
    });
    TRACES.set(c.req.raw, span.traceparent);
    try {
      await next();
    } finally {
      // The route of the handler that responded, because later patterns match every path.
      const route = routePath(c).replaceAll(/:(\w+)/gu, '{$1}');
      const { status } = c.res;
      span.set({ 'http.route': route, 'http.response.status_code': status });
      span.rename(`${method} ${route}`);
      if (status >= 500) span.fail(String(status));
      span.end();
    }
  };
}

/** Makes a span for a run of a trace, from its acceptance to its end in this process, without inputs and outputs. */
export function traceRun(spans: AgentSpans, live: LiveRun, parent: string): void {
  const span = spans.start({
    name: 'run',
    kind: 'internal',
    parent,
    attributes: { 'slipway.run': live.runId, 'slipway.run.attempt': live.record.attempt },
  });
  void live.ended.then(({ status }) => {
    span.set({ 'slipway.run.status': status });
    if (status === 'error' || status === 'timeout') span.fail(status);
    span.end();
  });
}
