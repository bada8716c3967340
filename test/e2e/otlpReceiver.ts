import { createServer, type Server } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';

import protobuf from 'protobufjs';
import { closeServer, listen, urlOf } from '../support/listen.ts';

/** A received span. Times are in milliseconds since 1970. */
export interface ReceivedSpan {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** `''`: it is the first of its trace. */
  readonly parentSpanId: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly isError: boolean;
}

/** A collector of traces: OTLP over HTTP, as protobuf. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  /** All received data as text, to search for secrets. */
  raw = '';
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      void buffer(request).then((body) => {
        const bytes = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
        this.raw += bytes.toString('latin1');
        this.spans.push(...readSpans(bytes));
        response.setHeader('content-type', 'application/x-protobuf').end();
      });
    });
  }

  static async start(): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver();
    await listen(receiver.#server);
    return receiver;
  }

  get env(): Record<string, string> {
    return { OTEL_EXPORTER_OTLP_ENDPOINT: urlOf(this.#server) };
  }

  trace(traceId: string): readonly ReceivedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  close(): Promise<void> {
    return closeServer(this.#server);
  }
}

/** The part of `opentelemetry/proto/collector/trace/v1/trace_service.proto` that the tests read. */
const TRACES = protobuf
  .parse(
    `
  syntax = "proto3";
  message Request { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { repeated Span spans = 2; }
  message Span {
    bytes trace_id = 1;
    bytes span_id = 2;
    bytes parent_span_id = 4;
    string name = 5;
    fixed64 start_time_unix_nano = 7;
    fixed64 end_time_unix_nano = 8;
    repeated KeyValue attributes = 9;
    Status status = 15;
  }
  message Status { string message = 2; int32 code = 3; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue {
    oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; }
  }
`,
  )
  .root.lookupType('Request');

interface KeyValue {
  readonly key: string;
  readonly value?: Readonly<Record<string, string | number | boolean>>;
}

interface Sent {
  readonly resourceSpans: readonly {
    readonly resource?: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly traceId: Uint8Array;
        readonly spanId: Uint8Array;
        readonly parentSpanId: Uint8Array;
        readonly name: string;
        readonly startTimeUnixNano: number;
        readonly endTimeUnixNano: number;
        readonly attributes: readonly KeyValue[];
        readonly status?: { readonly code: number };
      }[];
    }[];
  }[];
}

function readSpans(bytes: Uint8Array): readonly ReceivedSpan[] {
  const sent = TRACES.toObject(TRACES.decode(bytes), { longs: Number, defaults: true }) as unknown as Sent;
  return sent.resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(valuesOf(resource?.attributes ?? [])['service.name']);
    return scopeSpans
      .flatMap(({ spans }) => spans)
      .map((span) => ({
        service,
        name: span.name,
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentSpanId: hex(span.parentSpanId),
        startMs: span.startTimeUnixNano / 1e6,
        endMs: span.endTimeUnixNano / 1e6,
        attributes: valuesOf(span.attributes),
        isError: span.status?.code === 2,
      }));
  });
}

function valuesOf(attributes: readonly KeyValue[]): ReceivedSpan['attributes'] {
  return Object.fromEntries(
    attributes.map(({ key, value = {} }) => [
      key,
      value['stringValue'] ?? value['boolValue'] ?? value['intValue'] ?? value['doubleValue'] ?? '',
    ]),
  );
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
