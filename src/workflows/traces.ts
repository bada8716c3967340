import type { Headers } from '@temporalio/common';
import type {
  ActivityOptions,
  LocalActivityOptions,
  WorkflowInterceptorsFactory,
} from '@temporalio/workflow';

import type { StepName } from '../domain/step.ts';
import { isRecord } from '../domain/scalars.ts';
import { TRACEPARENT } from '@slipway/contract/traceparent';
import { TRACE_HEADER, type TraceHeader } from '../messages/traceHeader.ts';
import { payloadConverter } from './payloadConverter.ts';

/** An activity's step, beside its options. Only the interceptor reads it. */
interface OfStep {
  readonly step?: StepName;
}
export type StepActivityOptions = ActivityOptions & OfStep;
export type LocalStepOptions = LocalActivityOptions & OfStep;

/**
 * Propagates a workflow's trace to its activities and children, and adds the release to each log line.
 *
 * The trace comes from the request in the workflow's input, or from the header of the workflow that started it. A
 * target has none, because it outlives its releases. The interceptor adds no promise to a call, so that a workflow
 * runs the same code in the same order with and without a trace. This closure keeps the state, because each workflow
 * has its own (`perWorkflow.ts`).
 *
 * The bundler looks for this export.
 */
export const interceptors: WorkflowInterceptorsFactory = () => {
  let traceparent: string | undefined;
  let subject: Readonly<Record<string, string>> = {};
  const passOn = <Input extends { readonly headers: Headers }>(input: Input, step?: StepName): Input => {
    if (traceparent === undefined) return input;
    const header: TraceHeader = { traceparent, step };
    return { ...input, headers: { ...input.headers, [TRACE_HEADER]: payloadConverter.toPayload(header) } };
  };
  const stepOf = (options: object): StepName | undefined => (options as StepActivityOptions).step;
  return {
    inbound: [
      {
        execute(input, next) {
          const [given] = input.args;
          traceparent = requestTrace(given) ?? headerTrace(input.headers);
          subject = subjectOf(given);
          return next(input);
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) => next(passOn(input, stepOf(input.options))),
        scheduleLocalActivity: (input, next) => next(passOn(input, stepOf(input.options))),
        startChildWorkflowExecution: (input, next) => next(passOn(input)),
        getLogAttributes: (attributes, next) => next({ ...attributes, ...subject }),
      },
    ],
  };
};

function requestTrace(given: unknown): string | undefined {
  const request = isRecord(given) ? given['request'] : undefined;
  return isRecord(request) ? validTrace(request['trace']) : undefined;
}

function headerTrace(headers: Headers): string | undefined {
  const payload = headers[TRACE_HEADER];
  if (payload == null) return undefined;
  const header = payloadConverter.fromPayload<unknown>(payload);
  return isRecord(header) ? validTrace(header['traceparent']) : undefined;
}

function validTrace(value: unknown): string | undefined {
  return typeof value === 'string' && TRACEPARENT.test(value) ? value : undefined;
}

function subjectOf(given: unknown): Readonly<Record<string, string>> {
  if (!isRecord(given)) return {};
  const { releaseId, request, lastRequest } = given;
  const target = [request, lastRequest].map(targetOf).find((name) => name !== undefined);
  return {
    ...(typeof releaseId === 'string' ? { release: releaseId } : {}),
    ...(target === undefined ? {} : { target }),
  };
}

function targetOf(request: unknown): string | undefined {
  if (!isRecord(request)) return undefined;
  // A promotion's request names the target to release to in `to`.
  const target = request['target'] ?? request['to'];
  const name = isRecord(target) ? target['name'] : undefined;
  return typeof name === 'string' ? name : undefined;
}
