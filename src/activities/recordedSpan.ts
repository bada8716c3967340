import { traceIdOf } from '@slipway/contract/traceparent';

import type { PromotionResult } from '../domain/promotion/promotion.ts';
import type { ReleaseResult } from '../domain/release/release.ts';
import type { SpanAttributes } from '../traces/span.ts';
import { startSpan } from '../traces/trace.ts';
import type { WorkflowTrace } from './workflowTrace.ts';

/**
 * Records the span of a release, a rollback or a promotion when its record is written. The span began much earlier,
 * perhaps on another worker. Its id is derived from the run (`workflowTrace.ts`).
 */
export function recordedSpan(activityType: string, input: unknown, { parent, askedBy }: WorkflowTrace): void {
  const { result } = (input ?? {}) as { readonly result?: unknown };
  if (parent === undefined || result === undefined) return;
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
