import { createHash } from 'node:crypto';

import { traceIdOf, TRACEPARENT } from '@slipway/contract/traceparent';
import type { Info } from '@temporalio/activity';
import { defaultPayloadConverter, type Headers } from '@temporalio/common';

import { isRecord } from '../domain/scalars.ts';
import { TRACE_HEADER } from '../messages/traceHeader.ts';

/** Where an activity's span belongs in the trace. */
export interface WorkflowTrace {
  readonly step?: string;
  /** The workflow's span, which is recorded only when the workflow ends. */
  readonly parent?: string;
  /** The span that requested the workflow; absent if it was not traced. */
  readonly askedBy?: string;
}

/**
 * The trace of an activity's workflow. A workflow records no span itself. Its span id is derived from the run id, so
 * that all workers name the same parent, and the worker that records the release's end can record the span.
 *
 * A workflow without a trace in its request, such as a scheduled promotion, gets a trace id derived from its run id.
 */
export function workflowTrace({ workflowExecution }: Info, headers: Headers): WorkflowTrace {
  if (workflowExecution === undefined) return {};
  const { workflowId, runId } = workflowExecution;
  const { askedBy, step } = readHeader(headers);
  const traceId = askedBy === undefined ? hexOf(`trace ${workflowId} ${runId}`, 32) : traceIdOf(askedBy);
  const flags = askedBy?.slice(-2) ?? '01';
  return { step, parent: `00-${traceId}-${hexOf(`span ${workflowId} ${runId}`, 16)}-${flags}`, askedBy };
}

function readHeader(headers: Headers): { readonly askedBy?: string; readonly step?: string } {
  const payload = headers[TRACE_HEADER];
  const header = payload == null ? undefined : defaultPayloadConverter.fromPayload<unknown>(payload);
  if (!isRecord(header)) return {};
  const { traceparent, step } = header;
  return {
    askedBy: typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? traceparent : undefined,
    step: typeof step === 'string' ? step : undefined,
  };
}

function hexOf(text: string, digits: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digits);
}
