import { createHash } from 'node:crypto';

import { traceIdOf, TRACEPARENT } from '@slipway/contract/traceparent';
import { ApplicationFailure, CancelledFailure, type Context } from '@temporalio/activity';
import { ApplicationFailureCategory, defaultPayloadConverter, type Headers } from '@temporalio/common';
import type { ActivityInterceptors } from '@temporalio/worker';

import type { PromotionResult } from '../domain/promotion/promotion.ts';
import type { ReleaseResult } from '../domain/release/release.ts';
import { isRecord } from '../domain/scalars.ts';
import { TRACE_HEADER } from '../messages/traceHeader.ts';
import type { Span, SpanAttributes } from '../traces/span.ts';
import { currentTrace, inSpan, startSpan } from '../traces/trace.ts';
import { type CallingWorkflow, callingWorkflow } from './callingWorkflow.ts';

/**
 * Observes the attempts of activities. Each attempt is a span in its release's trace, and a log line when it ends.
 * Log lines during an attempt carry its release, target, revision, workflow and trace.
 *
 * Secrets have been removed from failures already (`track.ts`).
 */
export function observedActivity(context: Context): ActivityInterceptors {
  const { info, log } = context;
  const calling = callingWorkflow(info);
  const { workflowId, runId } = calling;
  const about = { subject: subjectOf(workflowId, undefined), trace: '' };
  return {
    inbound: {
      async execute(input, next) {
        const [given] = input.args;
        const subject = subjectOf(workflowId, given);
        const { step, ...within } = workflowTrace(calling, input.headers);
        const attributes = { ...subject, step, attempt: info.attempt };
        about.subject = subject;
        const began = performance.now();
        return inSpan(
          {
            name: info.activityType,
            ...within,
            attributes: {
              ...named(attributes),
              'temporal.workflow_id': workflowId,
              'temporal.run_id': runId,
              'temporal.local': info.isLocal,
            },
          },
          async (span) => {
            about.trace = traceIdOf(currentTrace() ?? '');
            const tookMs = (): number => Math.round(performance.now() - began);
            try {
              const result: unknown = await next(input);
              const found = foundBy(result);
              span.set(named(found));
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

function subjectOf(workflowId: string, given: unknown): Subject {
  const input = isRecord(given) ? given : {};
  const { target, request, result, revisionId } = input;
  const name = isRecord(target) ? target['name'] : undefined;
  const of = [input, request, result].filter(isRecord);
  const first = (...texts: unknown[]): string | undefined =>
    texts.find((text): text is string => typeof text === 'string');
  return {
    release: first(
      RELEASE_WORKFLOW.exec(workflowId)?.groups?.['release'],
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

function named(attributes: object): SpanAttributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [`slipway.${name}`, value as SpanAttributes[string]]),
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

/**
 * Records the span of a release, a rollback or a promotion when its record is written. The span began much earlier,
 * perhaps on another worker. Its id is derived from the run ({@link workflowTrace}).
 */
function recordedSpan(activityType: string, input: unknown, { parent, askedBy }: WorkflowTrace): void {
  const { result } = (input ?? {}) as { readonly result?: unknown };
  if (result === undefined) return;
  const ended =
    activityType === 'recordRelease'
      ? ofRelease(result as ReleaseResult)
      : activityType === 'recordPromotion'
        ? ofPromotion(result as PromotionResult)
        : undefined;
  if (ended === undefined) return;
  const { name, attributes, isWell } = ended;
  const { outcome, code, startedAt, endedAt } = result as ReleaseResult | PromotionResult;
  const [, , spanId] = parent.split('-');
  const where = askedBy === undefined ? { traceId: traceIdOf(parent) } : { parent: askedBy };
  const span = startSpan({ name, ...where, spanId, startedAt, attributes });
  span.set({ 'slipway.outcome': outcome });
  if (!isWell) span.fail(code ?? outcome);
  span.end(endedAt);
}

interface Ended {
  readonly name: string;
  readonly attributes: SpanAttributes;
  readonly isWell: boolean;
}

function ofRelease({ kind, releaseId, target, artifact, commit, outcome, ...result }: ReleaseResult): Ended {
  return {
    name: `${kind} ${target}`,
    isWell: outcome === 'released' || (kind === 'rollback' && outcome === 'rolled_back'),
    attributes: {
      'slipway.release': releaseId,
      'slipway.target': target,
      'slipway.artifact': artifact,
      'slipway.commit': commit,
      'slipway.deployment': result.deploymentId,
      'slipway.revision': result.revisionId,
      'slipway.revision.serving': result.servingRevisionId,
    },
  };
}

function ofPromotion({ promotion, from, to, outcome, artifact, commit, releaseId }: PromotionResult): Ended {
  return {
    name: `promotion ${promotion}`,
    isWell: outcome === 'released',
    attributes: {
      'slipway.release': releaseId,
      'slipway.target': to,
      'slipway.target.from': from,
      'slipway.artifact': artifact,
      'slipway.commit': commit,
    },
  };
}

/** Where an activity's span belongs in the trace. */
interface WorkflowTrace {
  readonly step?: string;
  /** The workflow's span, which is recorded only when the workflow ends. */
  readonly parent: string;
  /** The span that requested the workflow; absent if it was not traced. */
  readonly askedBy?: string;
}

/**
 * The trace of an activity's workflow. A workflow records no span itself. Its span id is derived from the run id, so
 * that all workers name the same parent, and the worker that records the release's end can record the span.
 *
 * A workflow without a trace in its request, such as a scheduled promotion, gets a trace id derived from its run id.
 */
function workflowTrace({ workflowId, runId }: CallingWorkflow, headers: Headers): WorkflowTrace {
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
