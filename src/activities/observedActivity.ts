import { traceIdOf } from '@slipway/contract/traceparent';
import { ApplicationFailure, CancelledFailure, type Context } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { ActivityInterceptors } from '@temporalio/worker';

import { isRecord } from '../domain/scalars.ts';
import type { Span, SpanAttributes } from '../traces/span.ts';
import { currentTrace, inSpan } from '../traces/trace.ts';
import { recordedSpan } from './recordedSpan.ts';
import { workflowTrace } from './workflowTrace.ts';

/**
 * Observes the attempts of activities. Each attempt is a span in its release's trace, and a log line when it ends.
 * Log lines during an attempt carry its release, target, revision, workflow and trace.
 *
 * Secrets have been removed from failures already (`track.ts`).
 */
export function observedActivity(context: Context): ActivityInterceptors {
  const { info, log } = context;
  const about = { subject: subjectOf(info.workflowExecution?.workflowId, undefined), trace: '' };
  return {
    inbound: {
      async execute(input, next) {
        const [given] = input.args;
        const workflowId = info.workflowExecution?.workflowId;
        const subject = subjectOf(workflowId, given);
        const { step, ...within } = workflowTrace(info, input.headers);
        const attributes = { ...subject, step, attempt: info.attempt };
        about.subject = subject;
        const began = performance.now();
        return inSpan(
          {
            name: info.activityType,
            ...within,
            attributes: {
              ...named('slipway', attributes),
              'temporal.workflow_id': workflowId,
              'temporal.run_id': info.workflowExecution?.runId,
              'temporal.local': info.isLocal,
            },
          },
          async (span) => {
            about.trace = traceIdOf(currentTrace() ?? '');
            const tookMs = (): number => Math.round(performance.now() - began);
            try {
              const result: unknown = await next(input);
              const found = foundBy(result);
              span.set(named('slipway', found));
              log.info(`${info.activityType} is done`, { ...found, step, tookMs: tookMs() });
              recordedSpan(info.activityType, given, within);
              return result;
            } catch (error) {
              failSpan(span, error);
              if (isNotYet(error))
                log.info(`${info.activityType}: ${error.message}`, { step, tookMs: tookMs() });
              throw error;
            }
          },
        );
      },
    },
    outbound: {
      getLogAttributes: (attributes, next) => {
        const { subject, trace } = about;
        return next({ ...attributes, ...defined(subject), ...(trace === '' ? {} : { trace_id: trace }) });
      },
    },
  };
}

interface Subject {
  readonly release?: string;
  readonly target?: string;
  readonly revision?: string;
}

/** `target:<address>:<deployment>/<release>` */
const RELEASE_WORKFLOW = /^target:.*\/(?<release>(?:release|rollback)-\d+)$/u;

function subjectOf(workflowId: string | undefined, given: unknown): Subject {
  const input = isRecord(given) ? given : {};
  const { target, request, result, revisionId } = input;
  const name = isRecord(target) ? target['name'] : undefined;
  const of = [input, request, result].filter(isRecord);
  const first = (...texts: unknown[]): string | undefined =>
    texts.find((text): text is string => typeof text === 'string');
  return {
    release: first(
      RELEASE_WORKFLOW.exec(workflowId ?? '')?.groups?.['release'],
      ...of.map((each) => each['releaseId']),
    ),
    target: first(
      name,
      ...of.map((each) => (isRecord(each['target']) ? each['target']['name'] : each['target'])),
    ),
    revision: first(revisionId, ...of.map((each) => each['revisionId'])),
  };
}

/** What an attempt found, beyond its input. */
function foundBy(result: unknown): SpanAttributes {
  if (!isRecord(result)) return {};
  const { revision, deployment, verdict } = result;
  return defined({
    revision: textOf(revision, 'revisionId') ?? textOf(verdict, 'revisionId'),
    'revision.status': textOf(revision, 'status'),
    'revision.latest': textOf(deployment, 'latestRevisionId'),
    'revision.active': textOf(deployment, 'activeRevisionId'),
    check: textOf(verdict, 'check'),
    'check.passed': isRecord(verdict) ? verdict['passed'] === true : undefined,
  });
}

function textOf(value: unknown, name: string): string | undefined {
  const text = isRecord(value) ? value[name] : undefined;
  return typeof text === 'string' ? text : undefined;
}

function named(prefix: string, attributes: object): SpanAttributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [`${prefix}.${name}`, value as SpanAttributes[string]]),
  );
}

function defined<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

function failSpan(span: Span, error: unknown): void {
  if (isNotYet(error)) span.set({ 'slipway.not_yet': error.message });
  else if (error instanceof CancelledFailure) span.set({ 'slipway.canceled': true });
  else if (error instanceof ApplicationFailure) span.fail(error.type ?? 'SLIPWAY_INTERNAL', error.message);
  else span.fail('SLIPWAY_INTERNAL');
}

/** A poll that found nothing yet is not a failure. */
function isNotYet(error: unknown): error is ApplicationFailure {
  return error instanceof ApplicationFailure && error.category === ApplicationFailureCategory.BENIGN;
}
