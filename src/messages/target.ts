import type { TypedSearchAttributes } from '@temporalio/common';

import { defineQuery, defineSignal, defineUpdate } from './define.ts';

import type { Actor } from '../domain/actor.ts';
import { isRevisionId } from '../domain/deployment/revisionName.ts';
import type { GuardMessage } from '../domain/guard/guarding.ts';
import type { ReleaseRequest, RollbackRequest } from '../domain/release/release.ts';
import { isRecord } from '../domain/scalars.ts';
import { attribute, SEARCH_ATTRIBUTES } from '../domain/searchAttributes.ts';
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
import { readActor, readTextFields, type Sender } from './fields.ts';
import { WORKFLOW_TASK_TIMEOUT_MS } from './workflowTypes.ts';

/** Queues a release. Answers when the release is queued or joined. `releaseRequestProblem` validates it. */
export const submitReleaseUpdate = defineUpdate<ReleaseAnswer, [ReleaseRequest]>('submitRelease');
/** Rolls back. Answers when the request is accepted. */
export const rollbackUpdate = defineUpdate<RollbackAnswer, [RollbackMessage]>('rollback');
/** Rolls back without an answer: in an emergency, `temporal workflow signal --name rollback` is enough. */
export const rollbackSignal = defineSignal<[RollbackMessage?]>('rollback');
export const holdUpdate = defineUpdate<boolean, [HoldMessage]>('hold');
export const holdSignal = defineSignal<[HoldMessage?]>('hold');
export const unholdUpdate = defineUpdate<boolean, [HoldMessage]>('unhold');
export const unholdSignal = defineSignal<[HoldMessage?]>('unhold');
/** Withdraws waiting releases or a submission. Answers with the ids of the withdrawn releases. */
export const withdrawUpdate = defineUpdate<readonly string[], [WithdrawMessage]>('withdraw');
export const withdrawSignal = defineSignal<[WithdrawMessage?]>('withdraw');
/** Answers with the artifact's identity. */
export const quarantineUpdate = defineUpdate<string, [QuarantineMessage]>('quarantine');
export const quarantineSignal = defineSignal<[QuarantineMessage?]>('quarantine');
export const unquarantineUpdate = defineUpdate<string, [QuarantineMessage]>('unquarantine');
export const unquarantineSignal = defineSignal<[QuarantineMessage?]>('unquarantine');
/** Sent only by previews: the deployment was deleted. */
export const retireUpdate = defineUpdate<boolean>('retire');
/** Sent only by notices: a receiver could not be notified. */
export const undeliveredSignal = defineSignal<[Undelivered]>('undelivered');
/** Sent by `slipway doctor`, also to hooks and previews: continue as a new run, under the new payload key. */
export const renewSignal = defineSignal('renew');
/** Sent only by guards: how the guard of a release ended. */
export const guardEndedSignal = defineSignal<[GuardMessage]>('guardEnded');
/** Sent only by targets, to their guards: a release or a rollback may change what serves. */
export const preemptGuardSignal = defineSignal('preemptGuard');
/** Sent only by releases, with their id, if the target guards a revision: the release is about to change what serves. */
export const changingSignal = defineSignal<[string]>('changing');
/** Sent only by releases, with their id, after `changing`: it changes nothing for now, but waits for a person or a freeze. */
export const waitsAgainSignal = defineSignal<[string]>('waitsAgain');
/** Sent only by releases: the release is restoring, and tries this revision first. */
export const restoringSignal = defineSignal<[Restoring]>('restoring');
export const viewQuery = defineQuery<TargetView>('view');
/** The state of a release or rollback request; `null` for an unknown id. */
export const lookupQuery = defineQuery<Lookup | null, [string]>('lookup');

/** The target's answer to the query `view`. */
export interface TargetView {
  readonly state: TargetState;
  readonly running: Running | null;
  /** The signaled rollbacks that the target answers once it has read what serves. Absent: none. */
  readonly signaled?: readonly RollbackRequest[];
  /** Set until the target has read the state of its earlier runs. Then `state` has no meaning yet. */
  readonly recovering?: true;
}

/** The message `rollback`. Every field is optional. */
export interface RollbackMessage extends Sender {
  /** A revision's id or the beginning of it, or a release's id. */
  readonly to?: string;
  /**
   * The id of the revision to leave. Default: what serves when the worker looks. With it, `to` is no person's choice,
   * and is not restored if a person has left it.
   */
  readonly serving?: string;
  /** The span that asks: a W3C `traceparent`. An invalid one is ignored. */
  readonly trace?: string;
  /** The record with the proof of the sender's identity. */
  readonly identity?: string;
  /** `false`: the target is not put on hold. Default: it is. */
  readonly hold?: false;
  /** Sent only by guards: the release that is guarded. The rollback counts only while its guard is in force. */
  readonly guard?: string;
  /** Sent only by guards: the report, which a target that was terminated or reset has not got. */
  readonly report?: GuardMessage;
  /** Sent only by hooks: the rollback counts only while `serving` serves. */
  readonly ifServing?: true;
}

export type HoldMessage = Sender;

export interface WithdrawMessage extends Sender {
  /** The waiting release. Without `release` and `submission`: all waiting releases. */
  readonly release?: string;
  /** A submission by its id, whether its release waits, runs or has not arrived yet. */
  readonly submission?: string;
}

export interface QuarantineMessage extends Sender {
  /** An artifact's identity, the beginning of its digest, or a revision that carries it. */
  readonly artifact?: string;
}

/** What a release reports to its target during a restore. */
export interface Restoring {
  readonly releaseId: string;
  /** The revision that it tries first. */
  readonly revisionId: string;
}

/**
 * Reads a rollback message. An empty message is valid: a rollback without `to`, by an unknown sender.
 * @param fallbackId - the request id to use if the message has none.
 */
export function readRollbackMessage(
  raw: unknown,
  origin: string,
  fallbackId: string,
): RollbackRequest | string {
  const fields = readTextFields(raw);
  if (typeof fields === 'string') return fields;
  const { requestId, to, serving, trace, identity, guard } = fields;
  if (serving !== undefined && !isRevisionId(serving)) return '"serving" is not the id of a revision';
  return {
    requestId: requestId ?? fallbackId,
    to,
    from: serving,
    trace: trace !== undefined && TRACEPARENT.test(trace) ? trace : undefined,
    identity,
    hold: isRecord(raw) && raw['hold'] === false ? false : undefined,
    guard,
    ifServing: isRecord(raw) && raw['ifServing'] === true ? true : undefined,
    requestedBy: readActor(fields, origin),
  };
}

export function readRestoring(raw: unknown): Restoring | string {
  if (!isRecord(raw)) return 'the message is not an object';
  const { releaseId, revisionId } = raw;
  if (typeof releaseId !== 'string' || typeof revisionId !== 'string')
    return 'it names no release and revision';
  return { releaseId, revisionId };
}

/** Reads what to withdraw (a submission, or waiting releases: all if neither is named), who asked, and why. */
export function readWithdrawMessage(
  raw: unknown,
  origin: string,
): (Pick<WithdrawMessage, 'release' | 'submission'> & { readonly by: Actor }) | string {
  const fields = readTextFields(raw);
  if (typeof fields === 'string') return fields;
  return { release: fields['release'], submission: fields['submission'], by: readActor(fields, origin) };
}

/** Reads which artifact is meant, who asked, and why. */
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
 * The options to start a target's workflow with the first message to it.
 * @param recordStore - where the target stores the state that it must not lose.
 */
export function targetStart(target: TargetSpec, recordStore: string, taskQueue: string) {
  return {
    ...targetRun(targetWorkflowId(target), target.name, taskQueue),
    args: [{ recordStore }] as [{ readonly recordStore: string }],
    staticSummary: `target ${target.name}: ${target.deployment}`,
  };
}

/** The options to start a target again of which Temporal has an earlier run. */
export function targetAgain(earlier: ListedRun, taskQueue: string) {
  return { ...targetRun(earlier.workflowId, targetNameOf(earlier), taskQueue), args: [] as [] };
}

/** A run of a target, as Temporal describes it. */
interface ListedRun {
  readonly workflowId: string;
  readonly typedSearchAttributes: Pick<TypedSearchAttributes, 'get'>;
}

export function targetNameOf({ workflowId, typedSearchAttributes }: ListedRun): string {
  return typedSearchAttributes.get({ name: SEARCH_ATTRIBUTES.target, type: 'KEYWORD' }) ?? workflowId;
}

/** The options of every run of a target. */
function targetRun(workflowId: string, name: string, taskQueue: string) {
  return {
    workflowId,
    taskQueue,
    workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
    workflowIdConflictPolicy: 'USE_EXISTING' as const,
    typedSearchAttributes: [attribute('target', name)],
  };
}
