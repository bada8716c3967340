import { type Actor, whoAndWhy } from '../actor.ts';
import { artifactIdentity, describeArtifact } from '../artifact/artifact.ts';
import { jsonBytes } from '../bounds.ts';
import { isSameRevision } from '../deployment/revision.ts';
import { restoreInstructions } from '../release/instructions.ts';
import { exactText } from '../scalars.ts';
import type { ReleaseRequest } from '../release/release.ts';
import { findQuarantined } from './quarantine.ts';
import {
  addHistory,
  type HistoryRow,
  type NextWork,
  type Quarantined,
  type QueuedRelease,
  type ReleaseAnswer,
  type Running,
  type TargetState,
} from './targetState.ts';

/** The most waiting releases under `queue: all`. A further one is rejected. */
export const QUEUE_MAX = 50;
/** The limit for all waiting releases together, as JSON. One request of the maximum size fits. */
const QUEUE_MAX_BYTES = 300_000;

/** The state after a submission, and the target's answer to it. */
export interface Answered {
  readonly state: TargetState;
  readonly answer: ReleaseAnswer;
}

/**
 * Handles a release request: joins a waiting, running or serving release with the same key, else queues a new one.
 * Under `queue: latest`, that supersedes the waiting ones.
 */
export function submitRelease(
  state: TargetState,
  running: Running | null,
  request: ReleaseRequest,
  now: string,
): Answered {
  const same = (releaseId: string, disposition: 'joined' | 'already_released', how: string): Answered => {
    return { state, answer: { releaseId, disposition, reason: `the same release ${how}` } };
  };
  const waiting = state.queue.find((queued) => queued.request.requestKey === request.requestKey);
  if (waiting !== undefined) return same(waiting.releaseId, 'joined', 'is waiting');
  if (running?.requestKey === request.requestKey && !isBeingStopped(state, running))
    return same(running.releaseId, 'joined', 'is running');
  const serving = running === null && state.queue.length === 0 ? servingRelease(state, request) : undefined;
  if (serving !== undefined) return same(serving.releaseId, 'already_released', 'is what serves');

  const { releaseId, numbered } = number(state, 'release');
  const queued: QueuedRelease = { releaseId, request, queuedAt: now };
  const late = isReplaced(state, request);
  const refusal = late ? { reason: replacedText(state, request) } : refuse(state, request);
  if (refusal !== undefined) {
    const row = neverStarted(queued, late ? 'superseded' : 'rejected', refusal.reason, now);
    return { state: addHistory(numbered, row), answer: { releaseId, disposition: 'rejected', ...refusal } };
  }
  const rest =
    request.queue === 'latest'
      ? endWaiting(numbered, state.queue, 'superseded', `superseded by ${releaseId} before it started`, now)
      : numbered;
  const taken = { ...rest, spec: request.target, lastRequest: request, queue: [...rest.queue, queued] };
  const reason = running === null ? 'starting' : 'waiting its turn';
  return { state: taken, answer: { releaseId, disposition: 'queued', reason } };
}

/**
 * Sets a hold. If there is one already, its reason stays. But a rollback's hold becomes the person's, because
 * otherwise it would end with a rollback that changes nothing. Waiting releases are rejected.
 */
export function setHold(state: TargetState, by: Actor, now: string): TargetState {
  if (state.hold !== null && state.hold.requestId === undefined) return state;
  const held = rejectWaiting(state, 'a hold', by, now, (waiting) => waiting.request.overrideHold !== true);
  return { ...held, hold: { since: now, by } };
}

/** Rejects waiting releases whose artifact was quarantined meanwhile. */
export function rejectQuarantined(state: TargetState, now: string): TargetState {
  const reject = (rest: TargetState, { artifact, by }: Quarantined): TargetState => {
    const isOfIt = ({ request }: QueuedRelease) => artifactIdentity(request.artifact) === artifact;
    return rejectWaiting(rest, 'a quarantine', by, now, isOfIt);
  };
  return state.quarantined.reduce(reject, state);
}

/** Supersedes waiting releases that replace another revision than the one that is active now. */
export function supersedeReplaced(state: TargetState, now: string): TargetState {
  const supersede = (rest: TargetState, queued: QueuedRelease): TargetState =>
    endWaiting(rest, [queued], 'superseded', replacedText(state, queued.request), now);
  return state.queue.filter(({ request }) => isReplaced(state, request)).reduce(supersede, state);
}

function isReplaced({ known, activeRevisionId: serves }: TargetState, { replaces }: ReleaseRequest): boolean {
  if (replaces === undefined) return false;
  if (replaces === null || serves === null) return replaces !== serves;
  return !isSameRevision(known, replaces, serves);
}

function replacedText({ activeRevisionId }: TargetState, { replaces }: ReleaseRequest): string {
  return `it was asked for while revision ${replaces ?? 'none'} served; revision ${activeRevisionId ?? 'none'} serves since`;
}

/** Rejects waiting releases because of a person's action. */
export function rejectWaiting(
  state: TargetState,
  what: string,
  by: Actor,
  now: string,
  rejects: (queued: QueuedRelease) => boolean,
): TargetState {
  const reason = `rejected by ${what}, by ${whoAndWhy(by)}`;
  return endWaiting(state, state.queue.filter(rejects), 'rejected', reason, now);
}

/** Withdraws one or all waiting releases: they end `aborted`, never started. Returns their ids. */
export function withdrawReleases(
  state: TargetState,
  releaseId: string | undefined,
  by: Actor,
  now: string,
): { readonly state: TargetState; readonly withdrawn: readonly string[] } {
  const meant = state.queue.filter((queued) => releaseId === undefined || queued.releaseId === releaseId);
  const reason = `withdrawn before it started, by ${whoAndWhy(by)}`;
  const withdrawn = meant.map((queued) => queued.releaseId);
  return { state: endWaiting(state, meant, 'aborted', reason, now), withdrawn };
}

/** Rejects a submission that was withdrawn before it arrived: it ends `aborted`, never started. */
export function rejectWithdrawn(
  state: TargetState,
  request: ReleaseRequest,
  by: Actor,
  now: string,
): Answered {
  const { releaseId, numbered } = number(state, 'release');
  const reason = `withdrawn before it arrived, by ${whoAndWhy(by)}`;
  const row = neverStarted({ releaseId, request, queuedAt: now }, 'aborted', reason, now);
  return { state: addHistory(numbered, row), answer: { releaseId, disposition: 'rejected', reason } };
}

export function releaseHold(state: TargetState): TargetState {
  return state.hold === null ? state : { ...state, hold: null };
}

export function takeNext(
  state: TargetState,
): { readonly state: TargetState; readonly work: NextWork } | undefined {
  const rollback = state.rollbacks[0];
  if (rollback !== undefined) {
    const { releaseId, numbered } = number(state, 'rollback');
    return { state: numbered, work: { kind: 'rollback', releaseId, request: rollback } };
  }
  const [queued, ...rest] = state.queue;
  if (queued === undefined) return undefined;
  const { releaseId, request, queuedAt } = queued;
  return {
    state: { ...state, queue: rest },
    work: { kind: 'release', releaseId, request, queuedAt: request.identity && queuedAt },
  };
}

/**
 * Whether a withdrawal or a rollback is stopping the running release: a request that joined it could only fail. A
 * release that restores after its own failure can be joined: then a repeated job gets its result instead of making a
 * second revision.
 */
function isBeingStopped(state: TargetState, { releaseId }: Running): boolean {
  return state.rollbacks.length > 0 || withdrawnBy(state, releaseId) !== undefined;
}

/** Who withdrew all submissions of a release; `undefined` if one is not withdrawn, or the first is forgotten. */
export function withdrawnBy(state: TargetState, releaseId: string): Actor | undefined {
  const all = state.submissions.filter(({ answer }) => answer?.releaseId === releaseId);
  const maker = all.find(({ answer }) => answer?.disposition === 'queued');
  return all.every((submission) => submission.withdrawnBy !== undefined) ? maker?.withdrawnBy : undefined;
}

function servingRelease(state: TargetState, request: ReleaseRequest): HistoryRow | undefined {
  const { activeRevisionId, history, known } = state;
  if (activeRevisionId === null) return undefined;
  return history.findLast(
    ({ requestKey, outcome, revisionId }) =>
      requestKey === request.requestKey &&
      outcome === 'released' &&
      revisionId !== null &&
      isSameRevision(known, revisionId, activeRevisionId),
  );
}

function refuse(
  state: TargetState,
  request: ReleaseRequest,
): Pick<ReleaseAnswer, 'reason' | 'rejectedFor'> | undefined {
  if (state.hold !== null && request.overrideHold !== true) {
    const { by, since } = state.hold;
    return {
      reason: `the target is on hold since ${exactText(since)}, set by ${whoAndWhy(by)}`,
      rejectedFor: 'hold',
    };
  }
  const quarantined = findQuarantined(state, artifactIdentity(request.artifact));
  if (quarantined !== undefined) {
    const { by, since } = quarantined;
    const reason = `the artifact is in quarantine since ${exactText(since)}, put there by ${whoAndWhy(by)}`;
    return { reason, rejectedFor: 'quarantine' };
  }
  if (request.queue === 'latest') return undefined;
  if (state.queue.length >= QUEUE_MAX) return { reason: `${QUEUE_MAX} releases are waiting` };
  return jsonBytes(state.queue) + jsonBytes(request) > QUEUE_MAX_BYTES
    ? { reason: `the releases that wait would take more than ${QUEUE_MAX_BYTES} bytes with this one` }
    : undefined;
}

/** Ends a release or a rollback that never started because its target was terminated. */
export function endUnstarted(state: TargetState, running: Running, now: string): TargetState {
  return endByHand(state, running, now, 'aborted', 'its target was ended by hand before it started');
}

/** Ends a release or a rollback whose workflow was terminated: what it changed is unknown, and a person is needed. */
export function endLost(state: TargetState, running: Running, now: string): TargetState {
  const { spec: target, known } = state;
  const { releaseId } = running;
  const reason = 'its workflow was ended by hand, without a result';
  const predicament = { deploymentId: null, baseline: null, known, reason, code: null, attempted: [] };
  const instructions = target === null ? '' : restoreInstructions({ ...predicament, target });
  return {
    ...endByHand(state, running, now, 'errored', reason),
    activeRevisionId: null,
    needsPerson: { releaseId, since: now, instructions },
  };
}

function endByHand(
  state: TargetState,
  { releaseId, kind, requestKey }: Running,
  now: string,
  outcome: 'aborted' | 'errored',
  reason: string,
): TargetState {
  const requestedBy = { who: 'slipway', from: 'recovery' };
  const row = { releaseId, kind, requestKey, requestedBy, reason, outcome };
  return addHistory(state, { ...NEVER_STARTED, ...row, endedAt: now });
}

/** Ends waiting releases, which then never start. */
function endWaiting(
  state: TargetState,
  ended: readonly QueuedRelease[],
  outcome: 'superseded' | 'rejected' | 'aborted',
  reason: string,
  now: string,
): TargetState {
  const rows = ended.map((queued) => neverStarted(queued, outcome, reason, now));
  const queue = state.queue.filter((queued) => !ended.includes(queued));
  return rows.reduce(addHistory, { ...state, queue });
}

function neverStarted(
  { releaseId, request }: QueuedRelease,
  outcome: 'superseded' | 'rejected' | 'aborted',
  reason: string,
  now: string,
): HistoryRow {
  const { requestKey, artifact, commit = null, requestedBy } = request;
  return {
    ...NEVER_STARTED,
    releaseId,
    kind: 'release',
    requestKey,
    outcome,
    reason,
    requestedBy,
    endedAt: now,
    artifact: describeArtifact(artifact),
    commit,
  };
}

const NEVER_STARTED = {
  artifact: null,
  commit: null,
  revisionId: null,
  servingRevisionId: null,
  rollbackRequestIds: [],
};

function number(state: TargetState, kind: 'release' | 'rollback') {
  const { nextNumber } = state;
  const numbered: TargetState = { ...state, nextNumber: nextNumber + 1 };
  return { releaseId: `${kind}-${nextNumber}`, numbered };
}
