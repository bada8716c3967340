/**
 * The header by which a workflow passes its trace on to its activities and children, under the name that Temporal's own
 * interceptors use. A workflow without a trace sends none.
 */
export const TRACE_HEADER = '_tracer-data';

/** What the header holds, as JSON. */
export interface TraceHeader {
  /** The span that asked for the workflow. */
  readonly traceparent: string;
  /** The step that an activity belongs to. Absent: it belongs to none. */
  readonly step?: string;
}
