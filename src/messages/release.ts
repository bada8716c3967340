import { defineQuery, defineSignal, defineUpdate } from './define.ts';

import { isRevisionId } from '../domain/deployment/revisionName.ts';
import {
  type Intervention,
  INTERVENTION_KINDS,
  type InterventionAnswer,
  type InterventionKind,
} from '../domain/intervention/intervention.ts';
import type { Preemption, Progress } from '../domain/release/release.ts';
import { isRecord, readActor, readTextFields, type Sender } from './fields.ts';
import { readRollbackMessage } from './target.ts';

/** From the target alone: stop going forward and restore a revision, or only never restore one. */
export const preemptSignal = defineSignal<[Preemption]>('preempt');
/**
 * What people say to a release under way. The signals may also be sent to its target, which passes them on: then the
 * target's id is all that has to be known.
 */
export const INTERVENTION_UPDATES = byKind((kind) =>
  defineUpdate<InterventionAnswer, [InterventionMessage]>(kind),
);
export const INTERVENTION_SIGNALS = byKind((kind) => defineSignal<[InterventionMessage?]>(kind));
/** Where a release, a rollback or a promotion is. */
export const progressQuery = defineQuery<Progress>('progress');

/** What a person may send to a release under way: `abort`, `pause`, `resume`, `approve`, `reject`, `retry`, `skip`. */
export interface InterventionMessage extends Sender {
  /** What a `skip` leaves out: a check's name, `soak`, `judge`, or `freeze`. Without it nothing is left out. */
  readonly what?: string;
  /** The record with the proof of who sends it. */
  readonly identity?: string;
}

/**
 * Reads what is said to a release under way.
 *
 * @param fallbackId - its id where the message has none.
 */
export function readInterventionMessage(
  raw: unknown,
  kind: InterventionKind,
  origin: string,
  fallbackId: string,
): Intervention | string {
  const fields = readTextFields(raw);
  if (typeof fields === 'string') return fields;
  const { requestId, what, identity } = fields;
  return {
    id: requestId ?? fallbackId,
    kind,
    what,
    ...(identity === undefined ? {} : { identity }),
    by: readActor(fields, origin),
  };
}

/**
 * Reads what a target tells a running release: the rollback that it makes way for. The target sends only right ones;
 * a raw signal may send anything.
 */
export function readPreemption(raw: unknown): Preemption | string {
  if (!isRecord(raw)) return 'the message is not an object';
  const { requestId, to, from: leaving, goesOn, overtaker, requestedBy, identity } = raw;
  if (!isRecord(requestedBy)) return '"requestedBy" is not an object';
  const { who, from, reason } = requestedBy;
  const request = readRollbackMessage({ requestId, to, who, from, reason, identity }, 'signal', 'preempt');
  if (typeof request === 'string') return request;
  return {
    ...request,
    from: typeof leaving === 'string' && isRevisionId(leaving) ? leaving : undefined,
    goesOn: goesOn === true || undefined,
    overtaker: typeof overtaker === 'string' ? overtaker : undefined,
  };
}

/** One definition for each kind of intervention, under its own name. */
function byKind<Definition>(
  define: (kind: InterventionKind) => Definition,
): Record<InterventionKind, Definition> {
  return Object.fromEntries(INTERVENTION_KINDS.map((kind) => [kind, define(kind)])) as Record<
    InterventionKind,
    Definition
  >;
}
