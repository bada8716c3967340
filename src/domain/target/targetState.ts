import { pick } from '@slipway/contract/pick';

import type { Actor } from '../actor.ts';
import { type Bound, jsonBytes, newest } from '../bounds.ts';
import type { RevisionWords } from '../deployment/revisionName.ts';
import type { ErrorCode } from '../errors.ts';
import type { GuardPlan } from '../guard/guardPolicy.ts';
import type { Guarding } from '../guard/guarding.ts';
import type { RestoreSpan } from '../delivery/restoreSpan.ts';
import type {
  ENDED_FIELDS,
  KnownRevision,
  ReleaseRequest,
  ReleaseResult,
  RollbackRequest,
} from '../release/release.ts';
import type { Instant } from '../scalars.ts';
import type { TargetSpec } from './targetSpec.ts';

export interface QueuedRelease {
  readonly releaseId: string;
  readonly request: ReleaseRequest;
  readonly queuedAt: string;
}

/** A hold: the target takes no automatic release until a person releases it. */
export interface Hold {
  readonly since: Instant;
  readonly by: Actor;
  /** The rollback that set it. Absent: a person did. */
  readonly requestId?: string;
}

/** The deployment was changed by hand: another revision serves than the target expected. */
export interface Drift {
  /** When the target noticed. */
  readonly at: Instant;
  /** The revision that the target expected to serve. */
  readonly expected: string;
  /** The revision that served instead. `null`: none. */
  readonly found: string | null;
}

/** A release or a rollback that could not restore a good revision, and what a person must do. */
export interface NeedsPerson {
  readonly releaseId: string;
  readonly since: Instant;
  readonly instructions: string;
}

/** An ended release or rollback in brief. The artifact store has its whole record. */
export interface HistoryRow extends Pick<ReleaseResult, (typeof ENDED_FIELDS)[number]> {
  readonly requestKey: string | null;
  /** The code of the failure that ended it. Absent or `null`: nothing failed, or a person stopped it. */
  readonly code?: ErrorCode | null;
  /** Absent: not known, or it never started. */
  readonly startedAt?: Instant;
  /** `null`: it reached none. Absent: not known, or it never started. */
  readonly deploymentId?: string | null;
  /** The restore of an earlier revision. Absent: none succeeded, or not known. */
  readonly restore?: RestoreSpan;
  /** The rollback requests that it carried out. */
  readonly rollbackRequestIds: readonly string[];
  /** It restored the revision that served at its end. */
  readonly restored?: true;
  /** The checks that a person skipped. Absent: none, or not known. */
  readonly skippedChecks?: readonly string[];
}

/** A late revision or upload to watch. */
interface Watched {
  readonly deploymentId: string;
  /** The revision to restore when it becomes active. */
  readonly restoreTo: string;
  /** The end of the watch: ISO 8601. */
  readonly until: string;
}

/** A revision that was given up on and may still become active (design, rule 6). */
export interface LateRevision extends Watched {
  readonly revisionId: string;
}

/** An upload whose PATCH was not answered: a revision with this path may still appear (design, rule 2). */
export interface LateUpload extends Watched {
  readonly releaseId: string;
  readonly objectPath: string;
  /** The revision that the release followed in the end; `null` if it found none. */
  readonly revisionId: string | null;
  /** The known revisions, to ignore, whether they carry this path or not. */
  readonly known: readonly string[];
}

/** A second revision of a release: its PATCH was applied twice or late. */
export interface ExtraRevision {
  readonly releaseId: string;
  readonly revisionId: string;
  /** When it was noticed: ISO 8601. */
  readonly at: string;
  /** Whether it appeared only after the release had ended. */
  readonly landedLate: boolean;
}

/** A message that the target ignored, and why. */
export interface IgnoredMessage {
  readonly at: Instant;
  readonly message: string;
  readonly reason: string;
}

/** A message that changed something on the target. */
export interface AcceptedMessage {
  readonly at: Instant;
  /** `hold`, `unhold`, `quarantine`, `unquarantine`, `withdraw`, `rollback` or `guard`; others may come. */
  readonly message: string;
  readonly by: Actor;
  /** What it changed. */
  readonly note: string;
}

/** A submission of a release. Its id is that of the update. */
export interface Submission {
  readonly id: string;
  /** Absent if it has not arrived. */
  readonly answer?: ReleaseAnswer;
  /** Who withdrew it; absent if it was not withdrawn. */
  readonly withdrawnBy?: Actor;
}

/** An artifact that is blocked on the target until a person unblocks it. */
export interface Quarantined {
  /** The artifact's identity: `sha256:…`, `image:…`, `git:…`. */
  readonly artifact: string;
  readonly since: Instant;
  readonly by: Actor;
}

/** An artifact whose checks have failed on this target, and the releases in which they did. */
interface FailedChecks {
  readonly artifact: string;
  readonly releaseIds: readonly string[];
}

/** A notice that could not be delivered to a receiver. */
export interface Undelivered {
  /** When the worker gave up. */
  readonly at: string;
  /** The receiver's name. */
  readonly receiver: string;
  /** The event: one of docs/notifications.md. */
  readonly event: string;
  /** The release or the promotion; `null` for a hold. */
  readonly name: string | null;
  readonly reason: string;
}

/** The state that a target carries from run to run: plain data of limited size. */
export interface TargetState {
  /** The target in the newest request; `null` before the first. */
  readonly spec: TargetSpec | null;
  /**
   * The last settings that worked: a release ended `released` with them, or a restore succeeded. Without the
   * deployment's own settings (`sourceConfig`, `secrets`), which a restore does not send. `null` if none have worked
   * yet.
   */
  readonly lastGood: TargetSpec | null;
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
  /** The deployment whose lock the target owns. Absent: not known, and the next release claims it. */
  readonly owns?: string;
  /** The last detected drift; `null` if the last release found none. */
  readonly drift: Drift | null;
  /** Set until a release or a rollback ends well. */
  readonly needsPerson: NeedsPerson | null;
  readonly late: readonly LateRevision[];
  readonly lateUploads: readonly LateUpload[];
  /** Oldest first. */
  readonly extras: readonly ExtraRevision[];
  readonly ignored: readonly IgnoredMessage[];
  /** The messages that changed something, with who sent them and why. Oldest first. */
  readonly said: readonly AcceptedMessage[];
  /** The ids of handled rollback requests, so that a repeated request has no effect. */
  readonly seenRequestIds: readonly string[];
  /** The first answers to the last rollback requests, for senders that look them up. Oldest first; absent: none. */
  readonly rollbackAnswers?: readonly { readonly requestId: string; readonly lookup: Lookup }[];
  /** The submissions that were accepted or withdrawn, so that each gets only one answer. Oldest first. */
  readonly submissions: readonly Submission[];
  /** Blocked artifacts. Oldest first. */
  readonly quarantined: readonly Quarantined[];
  readonly failedChecks: readonly FailedChecks[];
  /** Notices that could not be delivered. Oldest first; absent: none. */
  readonly undelivered?: readonly Undelivered[];
  /** The guard of the release that ended last, whether it goes on or has ended. Absent: there was none. */
  readonly guard?: Guarding;
  /** How it guards, to begin again. */
  readonly guarded?: GuardPlan;
}

/** What runs on the target at this moment. */
export interface Running {
  readonly releaseId: string;
  readonly kind: 'release' | 'rollback';
  readonly requestKey: string | null;
  readonly workflowId: string;
  /** The revision that a rollback restores. `null`: not known yet, or it is a release. */
  readonly to: string | null;
  /** The revision that a release is restoring. Absent: it restores none. */
  readonly restores?: string;
}

export interface ReleaseAnswer {
  readonly releaseId: string;
  readonly disposition: 'queued' | 'joined' | 'already_released' | 'rejected';
  readonly reason: string;
  /** What a person can end so that the release is accepted; absent if it was not rejected for that. */
  readonly rejectedFor?: 'hold' | 'quarantine';
}

export interface RollbackAnswer {
  /** The request to follow: the earlier one if this request joined it. */
  readonly requestId: string;
  /** `done`: the revision to leave no longer serves, so nothing changes. */
  readonly disposition: 'preempting' | 'queued' | 'joined' | 'done' | 'ignored';
  readonly reason: string;
  /** The revision that will serve, or serves already. `null`: not known yet. */
  readonly serves: RevisionWords | null;
  readonly onHold: boolean;
}

/** An answer to a rollback request that nothing runs for. */
export interface FinalAnswer extends Pick<RollbackAnswer, 'reason'> {
  readonly disposition: 'done' | 'ignored';
  readonly onHold: boolean | null;
}

export function isFinal<Answer extends Pick<RollbackAnswer, 'disposition'>>(
  answer: Answer,
): answer is Answer & Pick<FinalAnswer, 'disposition'> {
  return answer.disposition === 'done' || answer.disposition === 'ignored';
}

export const EMPTY_TARGET: TargetState = {
  spec: null,
  lastGood: null,
  lastRequest: null,
  nextNumber: 1,
  queue: [],
  rollbacks: [],
  hold: null,
  known: [],
  history: [],
  activeRevisionId: null,
  drift: null,
  needsPerson: null,
  late: [],
  lateUploads: [],
  extras: [],
  ignored: [],
  said: [],
  seenRequestIds: [],
  submissions: [],
  quarantined: [],
  failedChecks: [],
};

/** The state once the deployment is deleted: without revisions, but with its history and quarantine. */
export function retireDeployment(state: TargetState): TargetState {
  const { owns: _, guard: _1, guarded: _2, ...kept } = state;
  const emptied = ['queue', 'rollbacks', 'hold', 'known', 'activeRevisionId', 'drift'] as const;
  const unwatched = ['needsPerson', 'late', 'lateUploads', 'extras'] as const;
  return { ...kept, ...pick(EMPTY_TARGET, ...emptied, ...unwatched) };
}

const HISTORY: Bound = { items: 100, bytes: 250_000 };
const MAKERS: Bound = { items: 50, bytes: 125_000 };
const IGNORED: Bound = { items: 20, bytes: 50_000 };
const SAID: Bound = { items: 50, bytes: 50_000 };
const UNDELIVERED: Bound = { items: 20, bytes: 30_000 };

/** The releases that made known revisions stay longest: they say who released what serves, or may be restored. */
export function addHistory(state: TargetState, row: HistoryRow): TargetState {
  const rows = [...state.history, row];
  const history = newest(rows, HISTORY);
  if (history.length === rows.length) return { ...state, history };
  const made = new Set(state.known.map(({ revisionId, copyOf = revisionId }) => copyOf));
  const isMaker = ({ kind, revisionId }: HistoryRow): boolean =>
    kind === 'release' && revisionId !== null && made.has(revisionId);
  const makers = newest(rows.filter(isMaker), MAKERS);
  const others = rows.filter((other) => !isMaker(other));
  const room = { items: HISTORY.items - makers.length, bytes: HISTORY.bytes - jsonBytes(makers) };
  const kept = new Set([...makers, ...newest(others, room)]);
  return { ...state, history: rows.filter((other) => kept.has(other)) };
}

export function ignoreMessage(state: TargetState, message: string, reason: string, now: string): TargetState {
  return { ...state, ignored: newest([...state.ignored, { at: now, message, reason }], IGNORED) };
}

export function noteAccepted(state: TargetState, said: AcceptedMessage): TargetState {
  return { ...state, said: newest([...state.said, said], SAID) };
}

/** Records a notice that was not delivered, for `slipway status`. */
export function noteUndelivered(state: TargetState, undelivered: Undelivered): TargetState {
  return { ...state, undelivered: newest([...(state.undelivered ?? []), undelivered], UNDELIVERED) };
}

/** The next work of the target. A rollback comes before every release. */
export type NextWork = {
  /** The revisions that were in quarantine when it began, if an earlier run of the target left it. Absent: not known. */
  readonly quarantined?: readonly string[];
} & (
  | { readonly kind: 'rollback'; readonly releaseId: string; readonly request: RollbackRequest }
  | {
      readonly kind: 'release';
      readonly releaseId: string;
      readonly request: ReleaseRequest;
      /** When the target accepted the request, if it comes with a proof of who asked. */
      readonly queuedAt?: string;
      /** The revision that it is restoring, if an earlier run of the target left it so. */
      readonly restores?: string;
    }
);

/** The state of a release or rollback request; `undefined` if the target does not know it (any longer). */
export type Lookup =
  | { readonly state: 'queued'; readonly reason: string }
  | { readonly state: 'running'; readonly releaseId: string; readonly workflowId: string }
  | { readonly state: 'ended'; readonly row: HistoryRow }
  /** A rollback request without a rollback of its own: it joined another one, was not needed, or was refused. */
  | { readonly state: 'answered'; readonly answer: RollbackAnswer }
  | { readonly state: 'refused'; readonly reason: string };

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

/** The rollbacks that wait. The first one stays in the state while it runs. */
export function waitingRollbacks(
  { rollbacks }: Pick<TargetState, 'rollbacks'>,
  running: Running | null,
): readonly RollbackRequest[] {
  return running?.kind === 'rollback' ? rollbacks.slice(1) : rollbacks;
}

/** The state in a target's record store: what must not be lost, without long or short-lived parts. */
export type KeptState = Omit<
  TargetState,
  'queue' | 'rollbacks' | 'history' | 'ignored' | 'said' | 'undelivered'
>;

/** The part of a state to store. Fields that are added to the state later are included. */
export function stateToKeep(state: TargetState): KeptState {
  const { queue: _, rollbacks: _1, history: _2, ignored: _3, said: _4, undelivered: _5, ...kept } = state;
  return kept;
}

/** Whether a state must be stored again. `kept`: the stored state; `null` if none is. */
export function isToBeKept(state: TargetState, kept: TargetState | null): boolean {
  if (kept === null) return true;
  const isChanged = (part: keyof KeptState): boolean => state[part] !== kept[part];
  return (['hold', 'quarantined', 'known', 'guard'] as const).some(isChanged);
}

/** A stored state, and when it was stored: ISO 8601. */
export interface Kept {
  readonly at: string;
  readonly state: TargetState;
}

/** The stored state in a record; `undefined` if it has none. */
export function keptStateOf(record: unknown): Kept | undefined {
  const { at, state } = (record ?? {}) as Partial<Record<keyof Kept, unknown>>;
  if (typeof at !== 'string' || typeof state !== 'object' || state === null) return undefined;
  if (!('nextNumber' in state)) return undefined;
  return { at, state: { ...EMPTY_TARGET, ...(state as KeptState) } };
}
