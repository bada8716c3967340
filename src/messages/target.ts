import { defineQuery, defineSignal, defineUpdate } from './define.ts';

import type { Actor } from '../domain/actor.ts';
import { isRevisionId } from '../domain/deployment/revisionName.ts';
import type { ReleaseRequest, RollbackRequest } from '../domain/release/release.ts';
import { SEARCH_ATTRIBUTES } from '../domain/searchAttributes.ts';
import { type TargetSpec, targetWorkflowId } from '../domain/target/targetSpec.ts';
import type {
  Lookup,
  ReleaseAnswer,
  RollbackAnswer,
  Running,
  TargetState,
  Undelivered,
} from '../domain/target/targetState.ts';
import { TRACEPARENT } from '@slipway/contract/traceparent';
import { isRecord, readActor, readTextFields, type Sender } from './fields.ts';
import { WORKFLOW_TASK_TIMEOUT_MS } from './workflowTypes.ts';

/** Queue a release; answers when it is queued or joined. `releaseRequestProblem` reads it. */
export const submitReleaseUpdate = defineUpdate<ReleaseAnswer, [ReleaseRequest]>('submitRelease');
/** Roll back; answers when it is taken. */
export const rollbackUpdate = defineUpdate<RollbackAnswer, [RollbackMessage]>('rollback');
/** The same, fire and forget: `temporal workflow signal --name rollback` is enough in an emergency. */
export const rollbackSignal = defineSignal<[RollbackMessage?]>('rollback');
export const holdUpdate = defineUpdate<boolean, [HoldMessage]>('hold');
export const holdSignal = defineSignal<[HoldMessage?]>('hold');
export const unholdUpdate = defineUpdate<boolean, [HoldMessage]>('unhold');
export const unholdSignal = defineSignal<[HoldMessage?]>('unhold');
/** Withdraw releases that wait, or a submission; answers with the ids of those that were, or of the submission's release. */
export const withdrawUpdate = defineUpdate<readonly string[], [WithdrawMessage]>('withdraw');
export const withdrawSignal = defineSignal<[WithdrawMessage?]>('withdraw');
/** Answers with the artifact's identity. */
export const quarantineUpdate = defineUpdate<string, [QuarantineMessage]>('quarantine');
export const quarantineSignal = defineSignal<[QuarantineMessage?]>('quarantine');
export const unquarantineUpdate = defineUpdate<string, [QuarantineMessage]>('unquarantine');
export const unquarantineSignal = defineSignal<[QuarantineMessage?]>('unquarantine');
/** From a notice alone: it did not reach a receiver. */
export const undeliveredSignal = defineSignal<[Undelivered]>('undelivered');
/** From a release alone: it is restoring, and this revision first. */
export const restoringSignal = defineSignal<[Restoring]>('restoring');
export const viewQuery = defineQuery<TargetView>('view');
/** The state of a release or rollback request; `null` for an unknown id. */
export const lookupQuery = defineQuery<Lookup | null, [string]>('lookup');

/** The target's answer to the query `view`. */
export interface TargetView {
  readonly state: TargetState;
  readonly running: Running | null;
  /** It has not read yet what its earlier runs knew: the state says nothing. */
  readonly recovering?: true;
}

/** What a person may send as `rollback`; every field may be missing. */
export interface RollbackMessage extends Sender {
  /** A revision's id, the beginning of it, or a release's id. */
  readonly to?: string;
  /**
   * The id of the revision to leave: the one that served when the person asked. Without it the worker reads what serves.
   * With it, `to` is no person's choice, and is not restored if a person has left it.
   */
  readonly serving?: string;
  /** The span that asks: a W3C `traceparent`. One that is none is ignored. */
  readonly trace?: string;
  /** The record with the proof of who asks. */
  readonly identity?: string;
}

/** What a person may send as `hold` or `unhold`. */
export type HoldMessage = Sender;

/** What a person may send as `withdraw`. */
export interface WithdrawMessage extends Sender {
  /** The release that waits. Absent, and no submission either: every one that waits. */
  readonly release?: string;
  /** A submission by its id, wherever it has got to: its release waits, runs, or is still to arrive. */
  readonly submission?: string;
}

/** What a person may send as `quarantine` or `unquarantine`. */
export interface QuarantineMessage extends Sender {
  /** An artifact's identity, the beginning of its digest, or a revision that carries it. */
  readonly artifact?: string;
}

/** What a release reports to its target while it restores. */
export interface Restoring {
  readonly releaseId: string;
  /** The revision that it restores first. */
  readonly revisionId: string;
}

/**
 * Reads a rollback message. Nothing at all is a rollback without a name.
 *
 * @param fallbackId - the request's id where the message has none.
 */
export function readRollbackMessage(
  raw: unknown,
  origin: string,
  fallbackId: string,
): RollbackRequest | string {
  const fields = readTextFields(raw);
  if (typeof fields === 'string') return fields;
  const { requestId, to, serving, trace, identity } = fields;
  if (serving !== undefined && !isRevisionId(serving)) return '"serving" is not the id of a revision';
  return {
    requestId: requestId ?? fallbackId,
    to,
    from: serving,
    ...(trace !== undefined && TRACEPARENT.test(trace) ? { trace } : {}),
    ...(identity === undefined ? {} : { identity }),
    requestedBy: readActor(fields, origin),
  };
}

/** Reads what a release reports to its target: that it is restoring, and which revision first. */
export function readRestoring(raw: unknown): Restoring | string {
  if (!isRecord(raw)) return 'the message is not an object';
  const { releaseId, revisionId } = raw;
  if (typeof releaseId !== 'string' || typeof revisionId !== 'string')
    return 'it names no release and revision';
  return { releaseId, revisionId };
}

/** Reads who asked for a hold, or for its end, and why. */
export function readHoldMessage(raw: unknown, origin: string): Actor | string {
  const fields = readTextFields(raw);
  return typeof fields === 'string' ? fields : readActor(fields, origin);
}

/** What is withdrawn: a submission, or releases that wait (`release: undefined`: all of them), by whom and why. */
export interface Withdrawing {
  readonly release: string | undefined;
  readonly submission: string | undefined;
  readonly by: Actor;
}

/** Reads what is withdrawn. */
export function readWithdrawMessage(raw: unknown, origin: string): Withdrawing | string {
  const fields = readTextFields(raw);
  if (typeof fields === 'string') return fields;
  return { release: fields['release'], submission: fields['submission'], by: readActor(fields, origin) };
}

/** Reads which artifact is meant, by whom and why. */
export function readQuarantineMessage(
  raw: unknown,
  origin: string,
): { readonly artifact: string; readonly by: Actor } | string {
  const fields = readTextFields(raw);
  if (typeof fields === 'string') return fields;
  const { artifact } = fields;
  return artifact === undefined
    ? '"artifact" is missing: an identity, the beginning of a digest, or a revision'
    : { artifact, by: readActor(fields, origin) };
}

/** Reads which notice could not be delivered. */
export function readUndelivered(raw: unknown): Undelivered | string {
  if (!isRecord(raw)) return 'the message is not an object';
  const text = (name: string): string | undefined => {
    const value = raw[name];
    return typeof value === 'string' ? value.slice(0, UNDELIVERED_MAX_CHARACTERS) : undefined;
  };
  const [at, receiver, event, reason] = UNDELIVERED_TEXTS.map(text);
  if (at === undefined || receiver === undefined || event === undefined || reason === undefined) {
    return `expected the texts ${UNDELIVERED_TEXTS.join(', ')}`;
  }
  return { at, receiver, event, name: text('name') ?? null, reason };
}

const UNDELIVERED_MAX_CHARACTERS = 1_000;
const UNDELIVERED_TEXTS = ['at', 'receiver', 'event', 'reason'] as const;

/**
 * The options under which a target's workflow is started, by the first message that is sent to it.
 *
 * @param recordStore - where the target keeps what it must not lose.
 */
export function targetStart(target: TargetSpec, recordStore: string, taskQueue: string) {
  return {
    ...targetRun(targetWorkflowId(target), target.name, taskQueue),
    args: [{ recordStore }] as [{ readonly recordStore: string }],
    staticSummary: `target ${target.name}: ${target.deployment}`,
  };
}

/** The options of every run of a target, also of one that only knows its workflow id. */
export function targetRun(workflowId: string, name: string, taskQueue: string) {
  return {
    workflowId,
    taskQueue,
    workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
    workflowIdConflictPolicy: 'USE_EXISTING' as const,
    typedSearchAttributes: [
      { key: { name: SEARCH_ATTRIBUTES.target, type: 'KEYWORD' as const }, value: name },
    ],
  };
}
