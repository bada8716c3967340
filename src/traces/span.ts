// What spans are made of, without anything that makes them.

export type SpanAttributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** How a span begins. */
export interface SpanStart {
  readonly name: string;
  /** `client`: a request to a service; `server`: one that was answered. Default: `internal`. */
  readonly kind?: 'client' | 'server' | 'internal';
  /** `null` and `undefined` are left out. */
  readonly attributes?: SpanAttributes;
  /** What it is part of, as a `traceparent`. Default: the span within which it begins. */
  readonly parent?: string;
  /** Its trace, where it has no parent: 32 hexadecimal digits. Default: a new one. */
  readonly traceId?: string;
  /** 16 hexadecimal digits. Default: new ones. */
  readonly spanId?: string;
  /** ISO 8601. Default: now. */
  readonly startedAt?: string;
}

/** A span that has begun. Ending it twice is ending it once. */
export interface Span {
  /** `undefined`: it is not recorded. */
  readonly traceparent: string | undefined;
  set(attributes: SpanAttributes): void;
  /**
   * Says that it failed.
   *
   * @param type - a code: one of few words.
   * @param message - without secrets.
   */
  fail(type: string, message?: string): void;
  /** @param endedAt - ISO 8601. Default: now. */
  end(endedAt?: string): void;
}

/** What makes spans (`openTelemetry.ts`). */
export interface Tracer {
  start(span: SpanStart): Span;
  /** Runs work within a span. */
  within<T>(span: Span, work: () => T): T;
  /** The span within which the caller runs. */
  current(): Span | undefined;
  /** Sends what has ended, and makes no more. Never throws. */
  close(): Promise<void>;
}
