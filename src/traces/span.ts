// The types of spans, without an implementation.

export type SpanAttributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface SpanStart {
  readonly name: string;
  /** `client`: a request to a service; `server`: an answered request. Default: `internal`. */
  readonly kind?: 'client' | 'server' | 'internal';
  /** `null` and `undefined` are left out. */
  readonly attributes?: SpanAttributes;
  /** The parent span as a `traceparent`. Default: the current span. */
  readonly parent?: string;
  /** The trace of a span without a parent: 32 hexadecimal digits. Default: a new one. */
  readonly traceId?: string;
  /** 16 hexadecimal digits. Default: new ones. */
  readonly spanId?: string;
  /** ISO 8601. Default: now. */
  readonly startedAt?: string;
}

/** A started span. Ending it again has no effect. */
export interface Span {
  /** `undefined` if it is not recorded. */
  readonly traceparent: string | undefined;
  /** Does work whose spans are below this one. */
  around<T>(work: () => T): T;
  set(attributes: SpanAttributes): void;
  /**
   * Marks the span as failed.
   * @param type - one of a small number of codes.
   * @param message - without secrets.
   */
  fail(type: string, message?: string): void;
  /** @param endedAt - ISO 8601. Default: now. */
  end(endedAt?: string): void;
}

/** Creates spans (`openTelemetry.ts`). */
export interface Tracer {
  start(span: SpanStart): Span;
  current(): Span | undefined;
  /** Sends the ended spans and stops. Never throws. */
  close(): Promise<void>;
}
