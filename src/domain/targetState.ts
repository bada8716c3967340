import { artifactIdentity, describeArtifact } from './artifact.ts';
import {
  type Actor,
  type KnownRevision,
  type Outcome,
  type ReleaseRequest,
  type ReleaseResult,
  type RollbackRequest,
} from './release.ts';
import { type TargetSpec } from './targetSpec.ts';

/** A release that waits for its turn. */
export interface QueuedRelease {
  readonly releaseId: string;
  readonly request: ReleaseRequest;
  readonly queuedAt: string;
}

/** A hold: the target takes no automatic release until a person releases it. */
export interface Hold {
  readonly since: string;
  readonly by: Actor;
}

/** One ended release or rollback, compact: the whole story is in its record. */
export interface HistoryRow {
  readonly releaseId: string;
  readonly kind: 'release' | 'rollback';
  readonly requestKey: string | null;
  readonly artifact: string | null;
  readonly commit: string | null;
  readonly outcome: Outcome;
  readonly reason: string;
  readonly revisionId: string | null;
  readonly servingRevisionId: string | null;
  readonly requestedBy: Actor;
  readonly endedAt: string;
  /** The rollback requests that it carried out. */
  readonly rollbackRequestIds: readonly string[];
}

/** A revision that was given up on and may still come up (design, rule 6). */
export interface LateRevision {
  readonly revisionId: string;
  readonly deploymentId: string;
  /** What is put back when it does. */
  readonly restoreTo: string;
  /** Until when it is watched: ISO 8601. */
  readonly until: string;
}

/** A message that was not acted upon, and why. */
export interface IgnoredMessage {
  readonly at: string;
  readonly message: string;
  readonly reason: string;
}

/** Everything that a target carries from run to run. Plain data, bounded. */
export interface TargetState {
  /** The target as the newest request described it; `null` before the first. */
  readonly spec: TargetSpec | null;
  readonly lastRequest: ReleaseRequest | null;
  readonly nextNumber: number;
  readonly queue: readonly QueuedRelease[];
  readonly rollbacks: readonly RollbackRequest[];
  readonly hold: Hold | null;
  /** Oldest first. */
  readonly known: readonly KnownRevision[];
  /** Oldest first. */
  readonly history: readonly HistoryRow[];
  readonly activeRevisionId: string | null;
  readonly late: readonly LateRevision[];
  readonly ignored: readonly IgnoredMessage[];
  /** Rollback requests already taken, so that saying it twice is saying it once. */
  readonly seenRequestIds: readonly string[];
}

/** What runs on the target at this moment. */
export interface Running {
  readonly releaseId: string;
  readonly kind: 'release' | 'rollback';
  readonly requestKey: string | null;
  readonly workflowId: string;
  /** Where a rollback goes, as far as it was named. */
  readonly to: string | null;
}

/** How a request for a release was taken. */
export interface ReleaseAnswer {
  readonly releaseId: string;
  readonly disposition: 'queued' | 'joined' | 'already_released' | 'rejected';
  readonly reason: string;
}

/** How a request for a rollback was taken. */
export interface RollbackAnswer {
  readonly requestId: string;
  readonly disposition: 'preempting' | 'queued' | 'joined' | 'ignored';
  readonly reason: string;
}

export const EMPTY_TARGET: TargetState = {
  spec: null,
  lastRequest: null,
  nextNumber: 1,
  queue: [],
  rollbacks: [],
  hold: null,
  known: [],
  history: [],
  activeRevisionId: null,
  late: [],
  ignored: [],
  seenRequestIds: [],
};

const KNOWN_MAX = 50;
const HISTORY_MAX = 100;
const IGNORED_MAX = 20;
const SEEN_MAX = 100;
/** The most releases that wait under `queue: all`; a further one is rejected. */
export const QUEUE_MAX = 50;
const ROLLBACKS_MAX = 10;

/**
 * Takes a request for a release: joins one with the same key that waits, runs, or is what serves; else queues a new
 * attempt. Under `queue: latest` it supersedes those that wait.
 */
export function submitRelease(
  state: TargetState,
  running: Running | null,
  request: ReleaseRequest,
  now: string,
): { readonly state: TargetState; readonly answer: ReleaseAnswer } {
  const waiting = state.queue.find((queued) => queued.request.requestKey === request.requestKey);
  if (waiting !== undefined) {
    return joined(state, waiting.releaseId, 'joined', 'the same release is waiting');
  }
  if (running?.requestKey === request.requestKey) {
    return joined(state, running.releaseId, 'joined', 'the same release is running');
  }
  const serving = running === null && state.queue.length === 0 ? servingRelease(state, request) : undefined;
  if (serving !== undefined) {
    return joined(state, serving.releaseId, 'already_released', 'the same release is what serves');
  }

  const { releaseId, numbered } = number(state, 'release');
  const queued: QueuedRelease = { releaseId, request, queuedAt: now };
  const refusal = refuse(state, request);
  if (refusal !== undefined) {
    const row = neverStarted(queued, 'rejected', refusal, now);
    return {
      state: addHistory(numbered, row),
      answer: { releaseId, disposition: 'rejected', reason: refusal },
    };
  }
  const superseded = request.queue === 'latest' ? state.queue : [];
  const kept = request.queue === 'latest' ? [] : state.queue;
  const rows = superseded.map((other) =>
    neverStarted(other, 'superseded', `superseded by ${releaseId} before it started`, now),
  );
  return {
    state: rows.reduce(addHistory, {
      ...numbered,
      spec: request.target,
      lastRequest: request,
      queue: [...kept, queued],
    }),
    answer: { releaseId, disposition: 'queued', reason: running === null ? 'starting' : 'waiting its turn' },
  };
}

/**
 * Takes a request for a manual rollback: it goes before everything that waits, which is rejected, and puts the
 * target on hold. A rollback without a name has nothing to do while one is under way, or on hold.
 *
 * @returns `preempt` where the running release must be told.
 */
export function requestRollback(
  state: TargetState,
  running: Running | null,
  request: RollbackRequest,
  now: string,
): { readonly state: TargetState; readonly answer: RollbackAnswer; readonly preempt: boolean } {
  const answer = (
    disposition: RollbackAnswer['disposition'],
    reason: string,
  ): { answer: RollbackAnswer; preempt: false; state: TargetState } => ({
    answer: { requestId: request.requestId, disposition, reason },
    preempt: false,
    state,
  });
  if (state.seenRequestIds.includes(request.requestId)) {
    return answer('joined', 'this request was taken before');
  }
  if (state.spec === null) return answer('ignored', 'this target has never taken a release');
  const underWay = running?.kind === 'rollback' || state.rollbacks.length > 0;
  if (request.to === undefined && underWay) return answer('ignored', 'a rollback is under way');
  if (request.to === undefined && running === null && state.hold !== null) {
    return answer('ignored', 'the target is on hold since its last rollback; name a revision to go back to');
  }
  const same = running?.kind === 'rollback' && running.to === request.to;
  if (same || state.rollbacks.some((other) => other.to === request.to)) {
    return answer('joined', 'a rollback to that revision is under way');
  }
  if (state.rollbacks.length >= ROLLBACKS_MAX) return answer('ignored', 'too many rollbacks are waiting');

  const why = request.requestedBy.reason === undefined ? '' : `: ${request.requestedBy.reason}`;
  const rejected = state.queue.map((queued) =>
    neverStarted(
      queued,
      'rejected',
      `rejected by a manual rollback by ${request.requestedBy.who}${why}`,
      now,
    ),
  );
  const preempt = running?.kind === 'release';
  return {
    state: rejected.reduce(addHistory, {
      ...state,
      queue: [],
      rollbacks: [...state.rollbacks, request],
      hold: state.hold ?? { since: now, by: request.requestedBy },
      seenRequestIds: [...state.seenRequestIds, request.requestId].slice(-SEEN_MAX),
    }),
    answer: {
      requestId: request.requestId,
      disposition: preempt ? 'preempting' : 'queued',
      reason: preempt ? `${running.releaseId} is being stopped` : 'starting',
    },
    preempt,
  };
}

/** Puts the target on hold; on hold already, it keeps the first reason. */
export function setHold(state: TargetState, by: Actor, now: string): TargetState {
  return state.hold === null ? { ...state, hold: { since: now, by } } : state;
}

/** Releases the hold. */
export function releaseHold(state: TargetState): TargetState {
  return { ...state, hold: null };
}

/** Records a message that was not acted upon. */
export function ignoreMessage(state: TargetState, message: string, reason: string, now: string): TargetState {
  return { ...state, ignored: [...state.ignored, { at: now, message, reason }].slice(-IGNORED_MAX) };
}

/** What the target does next: a rollback goes before every release. */
export type NextWork =
  | { readonly kind: 'rollback'; readonly releaseId: string; readonly request: RollbackRequest }
  | { readonly kind: 'release'; readonly releaseId: string; readonly request: ReleaseRequest };

/** Takes the next piece of work off the state; `undefined` when there is none. */
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
  return {
    state: { ...state, queue: rest },
    work: { kind: 'release', releaseId: queued.releaseId, request: queued.request },
  };
}

/**
 * Folds an ended release or rollback into the state: history, what serves, what is verified, which rollback requests
 * it satisfied, and which revisions are still to be watched.
 *
 * @param watchMs - how long a revision that was given up on is watched.
 */
export function recordResult(state: TargetState, result: ReleaseResult, watchMs: number): TargetState {
  const satisfied = satisfiedRollbacks(state, result);
  const row: HistoryRow = {
    releaseId: result.releaseId,
    kind: result.kind,
    requestKey: result.requestKey,
    artifact: result.artifact,
    commit: result.commit,
    outcome: result.outcome,
    reason: result.reason,
    revisionId: result.revisionId,
    servingRevisionId: result.servingRevisionId,
    requestedBy: result.requestedBy,
    endedAt: result.endedAt,
    rollbackRequestIds: satisfied.map((request) => request.requestId),
  };
  const until = new Date(Date.parse(result.endedAt) + watchMs).toISOString();
  const { servingRevisionId, deploymentId } = result;
  const late =
    servingRevisionId === null || deploymentId === null
      ? []
      : result.givenUpRevisionIds.map((revisionId) => ({
          revisionId,
          deploymentId,
          restoreTo: servingRevisionId,
          until,
        }));
  return addHistory(
    {
      ...state,
      activeRevisionId: servingRevisionId ?? state.activeRevisionId,
      known: mergeKnown(state.known, result.knownRevisions),
      rollbacks: state.rollbacks.filter((request) => !satisfied.includes(request)),
      late: [...state.late.filter((other) => !result.givenUpRevisionIds.includes(other.revisionId)), ...late],
    },
    row,
  );
}

/**
 * The rollbacks that a result settles. A rollback settles the first one, whatever came of it: a rollback is never
 * tried again by itself. A release settles those that it was stopped for, unless it had become `released` before
 * the word reached it, ended without a word, or put back another revision than the one named.
 */
function satisfiedRollbacks(state: TargetState, result: ReleaseResult): readonly RollbackRequest[] {
  if (result.kind === 'rollback') return state.rollbacks.slice(0, 1);
  const unknown = result.outcome === 'errored' && result.servingRevisionId === null;
  if (result.outcome === 'released' || unknown) return [];
  return state.rollbacks.filter(
    (request) => request.to === undefined || request.to === result.servingRevisionId,
  );
}

/** A revision that was given up on came up after all: what served before goes back, without a hold. */
export function counterLateRevision(state: TargetState, late: LateRevision, requestId: string): TargetState {
  const request: RollbackRequest = {
    requestId,
    to: state.activeRevisionId ?? late.restoreTo,
    requestedBy: {
      who: 'slipway',
      from: 'watch',
      reason: `revision ${late.revisionId} came up after it was given up on`,
    },
  };
  return { ...forgetLateRevision(state, late), rollbacks: [...state.rollbacks, request] };
}

/** There is nothing more to expect of a revision that was given up on. */
export function forgetLateRevision(state: TargetState, late: LateRevision): TargetState {
  return { ...state, late: state.late.filter((other) => other.revisionId !== late.revisionId) };
}

/** Where a release or a rollback request stands: `undefined` for one that the target does not know (any more). */
export type Lookup =
  | { readonly state: 'queued'; readonly reason: string }
  | { readonly state: 'running'; readonly releaseId: string; readonly workflowId: string }
  | { readonly state: 'ended'; readonly row: HistoryRow };

/** Looks up a release by its id, or a rollback request by its request id. */
export function lookUp(state: TargetState, running: Running | null, id: string): Lookup | undefined {
  const row = state.history.findLast(
    (candidate) => candidate.releaseId === id || candidate.rollbackRequestIds.includes(id),
  );
  if (row !== undefined) return { state: 'ended', row };
  const waiting = state.rollbacks.find((request) => request.requestId === id);
  if (running !== null && (running.releaseId === id || waiting !== undefined)) {
    return { state: 'running', releaseId: running.releaseId, workflowId: running.workflowId };
  }
  if (waiting !== undefined) return { state: 'queued', reason: 'the rollback is about to start' };
  const position = state.queue.findIndex((queued) => queued.releaseId === id);
  if (position === -1) return undefined;
  const reason = position === 0 ? 'next in the queue' : `number ${position + 1} in the queue`;
  return { state: 'queued', reason };
}

function joined(
  state: TargetState,
  releaseId: string,
  disposition: ReleaseAnswer['disposition'],
  reason: string,
): { readonly state: TargetState; readonly answer: ReleaseAnswer } {
  return { state, answer: { releaseId, disposition, reason } };
}

function servingRelease(state: TargetState, request: ReleaseRequest): HistoryRow | undefined {
  if (state.activeRevisionId === null) return undefined;
  return state.history.findLast(
    (row) =>
      row.requestKey === request.requestKey &&
      row.outcome === 'released' &&
      row.revisionId === state.activeRevisionId,
  );
}

function refuse(state: TargetState, request: ReleaseRequest): string | undefined {
  if (state.hold !== null && request.overrideHold !== true) {
    const { by, since } = state.hold;
    const why = by.reason === undefined ? '' : `: ${by.reason}`;
    return `the target is on hold since ${since}, set by ${by.who}${why}`;
  }
  if (request.queue === 'all' && state.queue.length >= QUEUE_MAX) return `${QUEUE_MAX} releases are waiting`;
  return undefined;
}

function neverStarted(
  queued: QueuedRelease,
  outcome: 'superseded' | 'rejected',
  reason: string,
  now: string,
): HistoryRow {
  return {
    releaseId: queued.releaseId,
    kind: 'release',
    requestKey: queued.request.requestKey,
    artifact: describeArtifact(queued.request.artifact),
    commit: queued.request.commit ?? null,
    outcome,
    reason,
    revisionId: null,
    servingRevisionId: null,
    requestedBy: queued.request.requestedBy,
    endedAt: now,
    rollbackRequestIds: [],
  };
}

function number(
  state: TargetState,
  kind: 'release' | 'rollback',
): { readonly releaseId: string; readonly numbered: TargetState } {
  return {
    releaseId: `${kind}-${state.nextNumber}`,
    numbered: { ...state, nextNumber: state.nextNumber + 1 },
  };
}

function addHistory(state: TargetState, row: HistoryRow): TargetState {
  return { ...state, history: [...state.history, row].slice(-HISTORY_MAX) };
}

/** Known revisions, each once, in the order in which they were first known; the newest word on each counts. */
function mergeKnown(
  known: readonly KnownRevision[],
  news: readonly KnownRevision[],
): readonly KnownRevision[] {
  const merged = new Map(known.map((revision) => [revision.revisionId, revision]));
  for (const revision of news) merged.set(revision.revisionId, revision);
  return [...merged.values()].slice(-KNOWN_MAX);
}

/** The identity of the artifact that a request ships, as it is kept with known revisions. */
export function requestArtifact(request: ReleaseRequest): string {
  return artifactIdentity(request.artifact);
}
