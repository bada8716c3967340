/** The header with which a workflow passes its trace on, named as in Temporal's own interceptors. */
export const TRACE_HEADER = '_tracer-data';

/** The header's content, as JSON. */
export interface TraceHeader {
  /** The span that requested the workflow. */
  readonly traceparent: string;
  /** The activity's step; absent if it belongs to none. */
  readonly step?: string;
}
