import { defineQuery, defineSignal, defineUpdate } from './define.ts';

import { isRevisionId } from '../domain/deployment/revisionName.ts';
import {
  type Intervention,
  INTERVENTION_KINDS,
  type InterventionAnswer,
  type InterventionKind,
} from '../domain/intervention/intervention.ts';
import type { Preemption, Progress } from '../domain/release/release.ts';
import { isRecord } from '../domain/scalars.ts';
import { readActor, readTextFields, type Sender } from './fields.ts';
import { readRollbackMessage } from './target.ts';

/** Sent only by the target: stop and restore a revision, or go on but never restore one. */
export const preemptSignal = defineSignal<[Preemption]>('preempt');
/** Sent only by the target, when that changes: the ids of the known revisions that are in quarantine. */
export const quarantinedSignal = defineSignal<[readonly string[]]>('quarantined');
/** Interventions in a running release. A signal may also go to the target, which forwards it. */
export const INTERVENTION_UPDATES = byKind((kind) =>
  defineUpdate<InterventionAnswer, [InterventionMessage]>(kind),
);
export const INTERVENTION_SIGNALS = byKind((kind) => defineSignal<[InterventionMessage?]>(kind));
/** The progress of a release, a rollback or a promotion. */
export const progressQuery = defineQuery<Progress>('progress');

/** A message to a running release: `abort`, `pause`, `resume`, `approve`, `reject`, `retry`, `skip`. */
export interface InterventionMessage extends Sender {
  /** What to `skip`: a check's name, `soak`, `judge` or `freeze`. Without it, nothing is skipped. */
  readonly what?: string;
  /** The record with the proof of the sender's identity. */
  readonly identity?: string;
}

/**
 * Reads an intervention.
 * @param fallbackId - the id to use if the message has none.
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
    identity,
    by: readActor(fields, origin),
  };
}

/** Reads a target's `preempt` signal: the rollback to make way for. A raw signal may contain anything. */
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

/** One definition for each kind of intervention, named after the kind. */
function byKind<Definition>(
  define: (kind: InterventionKind) => Definition,
): Record<InterventionKind, Definition> {
  return Object.fromEntries(INTERVENTION_KINDS.map((kind) => [kind, define(kind)])) as Record<
    InterventionKind,
    Definition
  >;
}
