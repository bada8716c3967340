import { CancellationScope, workflowInfo } from '@temporalio/workflow';

import { pick } from '@slipway/contract/pick';

import type { PromotedFrom } from '../../activities/activities.ts';
import type { Actor } from '../../domain/actor.ts';
import { type Artifact, shortArtifact } from '../../domain/artifact/artifact.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import { FREEZE } from '../../domain/intervention/intervention.ts';
import { waitingNotice } from '../../domain/notify/noticeContent.ts';
import {
  type Candidate,
  confirmCandidate,
  type PromotionTargets,
  type TargetSeen,
} from '../../domain/promotion/candidate.ts';
import {
  type PromotionRequest,
  promotionRequestKey,
  type PromotionResult,
  promotionSubmission,
} from '../../domain/promotion/promotion.ts';
import type { Outcome } from '../../domain/release/outcome.ts';
import type { ReleaseRequest, Waiting } from '../../domain/release/release.ts';
import type { HistoryRow } from '../../domain/target/targetState.ts';
import type { PromotionInput } from '../../messages/workflowTypes.ts';
import { explain } from '../failure.ts';
import type { Asked } from '../identity/proveIdentity.ts';
import { Interventions } from '../intervention/interventions.ts';
import { Journal } from '../journal.ts';
import { Notices } from '../notify/notices.ts';
import { messageGate } from '../target/messageGate.ts';

/** One running promotion: its request, and what it has found and done so far. */
export class PromotionRun {
  readonly request: PromotionRequest;
  readonly journal: Journal;
  readonly interventions: Interventions;
  readonly notices = new Notices();
  /** The forward steps. An abort or a cancellation cancels them at once. */
  readonly forward = new CancellationScope();
  candidate: Candidate | null = null;
  /** `to` before any change: as read when the candidate was chosen, or when a person chose to continue. */
  before: TargetSeen | null = null;
  /** The revision that was put on `to` by hand, if a person chose to promote despite it. */
  accepted: string | null = null;
  /** Whether the release was submitted to `to`, or is about to be. `false` again if it was withdrawn and had not arrived. */
  hasSubmitted = false;
  /** The release on `to`, set once the target has accepted it. */
  releaseId: string | null = null;
  /** Whether the target had this release already, from before a reset. */
  joined = false;
  /** How the release on `to` ended; `null` before that. */
  ended: HistoryRow | null = null;

  constructor({ request, schedule }: PromotionInput) {
    this.request = request;
    this.journal = new Journal(request.name, 'promotion', request.release.steps, request.store);
    this.interventions = new Interventions(
      this.journal,
      {
        ...request.release,
        ...pick(request, 'soakMs', 'approval', 'freezes', 'requestedBy'),
        called: 'promotion',
        checks: [],
        judged: request.judge !== undefined,
        asked: askedOf(request),
        scheduled: schedule !== undefined,
      },
      this.forward,
      (waiting) => notifyWaiting(this, waiting),
    );
  }
}

function askedOf({ asked }: PromotionRequest): Asked | undefined {
  if (asked === undefined) return undefined;
  const { requestId, identity } = asked;
  const { workflowId, startTime } = workflowInfo();
  return { statement: { action: 'promote', workflowId, requestId }, identity, at: startTime.toISOString() };
}

function notifyWaiting({ request, notices, candidate }: PromotionRun, waiting: Waiting): void {
  const { name, to: target, requestedBy, release } = request;
  const waiter = { kind: 'promotion', name, target, requestedBy } as const;
  const { artifact, commit } = candidate ?? { artifact: null, commit: null };
  notices.send(waitingNotice({ ...waiter, artifact, commit }, waiting), release);
}

export function lookAtTargets(run: PromotionRun): Promise<PromotionTargets> {
  const { from, to, downstream } = run.request;
  return look(run, `${from.name} → ${to.name}`, { from, to, downstream });
}

/** Reads one of the targets, so that nothing depends on whether the others answer. */
export async function lookAtTarget(run: PromotionRun, side: 'from' | 'to'): Promise<TargetSeen> {
  const target = run.request[side];
  return (await look(run, target.name, { from: target, to: target, downstream: [] }))[side];
}

function look(
  { journal, request: { store } }: PromotionRun,
  subject: string,
  asked: Pick<PromotionRequest, 'from' | 'to' | 'downstream'>,
): Promise<PromotionTargets> {
  return journal.step('candidate', subject, async (activities) => {
    const { line: targets, attempt } = await activities.lookAtLine({ ...asked, store });
    const { artifact } = targets.from;
    const serves = artifact === null ? 'nothing of ours' : shortArtifact(artifact);
    return { result: targets, attempt, detail: `${serves} serves on ${asked.from.name}` };
  });
}

/**
 * Reads again whether the candidate is still the one to promote. If `to` was changed by hand, asks a person.
 * Continuing means replacing the revision that serves now.
 * @returns whether nothing has changed.
 * @throws PromotionEnded
 */
export async function confirmTargets(run: PromotionRun): Promise<boolean> {
  const { candidate, before, interventions } = run;
  if (candidate === null) return true;
  const targets = await lookAtTargets(run);
  const confirmation = confirmCandidate(candidate, before?.servingRevisionId ?? null, targets);
  switch (confirmation.kind) {
    case 'stands':
      run.before = targets.to;
      return true;
    case 'changed_by_hand':
      if (run.accepted !== null && run.accepted === targets.to.servingRevisionId) return true;
      await interventions.ask(`${confirmation.reason}: "retry" promotes anyway, "abort" ends it`);
      run.before = targets.to;
      run.accepted = targets.to.servingRevisionId;
      return false;
    case 'superseded':
    case 'rejected':
      throw new PromotionEnded({ outcome: confirmation.kind, reason: confirmation.reason });
  }
}

/**
 * Releases the candidate to `to` through its target, and waits for the release to end.
 * @throws PromotionEnded if it was not released, with the release's outcome. A bad release also puts `to` on hold.
 */
export async function releaseOnTarget(run: PromotionRun, sizeBytes: number): Promise<HistoryRow> {
  const submission = submissionOf(workflowInfo().runId);
  run.hasSubmitted = true;
  const row = await submit(run, submission, releaseRequest(run, sizeBytes));
  if (row.outcome === 'released') return row;
  const reason = describeRelease(run, row);
  // A rollback that stopped it and succeeded has decided about the hold.
  const isRolledBack = row.outcome === 'rolled_back' && row.rollbackRequestIds.length > 0;
  if (!isRolledBack) await holdIfBad(run, row, reason);
  throw new PromotionEnded({ outcome: row.outcome, reason });
}

/** Submits the release. If the candidate or a target changed while it waited to begin, withdraws it. */
async function submit(run: PromotionRun, submission: string, request: ReleaseRequest): Promise<HistoryRow> {
  const { journal, candidate } = run;
  const { from, to, downstream } = run.request;
  const still = candidate === null ? undefined : { from, revisionId: candidate.revisionId };
  try {
    const { releaseId, disposition } = await journal.step('promote', to.name, async (activities) => {
      const asked = { request, submission, candidate: still, downstream };
      const { answer, attempt } = await activities.submitToTarget(asked);
      return { result: answer, attempt, detail: `${answer.releaseId}: ${answer.reason}` };
    });
    run.joined = disposition === 'joined';
    return await awaitOwnRelease(run, releaseId, still);
  } catch (error) {
    const { code, message } = explain(error);
    const outcome = OUTDATED.get(code);
    if (outcome === undefined) throw error;
    // An earlier attempt may have arrived.
    const row = await withdraw(run, message);
    if (row !== null && row.outcome !== 'aborted') return row;
    throw new PromotionEnded({ outcome, reason: message, code });
  }
}

/** How a promotion ends whose submission was not sent, or did not begin, by the failure. */
const OUTDATED: ReadonlyMap<ErrorCode, Outcome> = new Map([
  ['SLIPWAY_REVISION_REPLACED', 'superseded'],
  ['SLIPWAY_TARGET_ON_HOLD', 'rejected'],
]);

async function awaitOwnRelease(
  run: PromotionRun,
  releaseId: string,
  candidate?: PromotedFrom,
): Promise<HistoryRow> {
  run.releaseId = releaseId;
  return (run.ended = await awaitRelease(run, releaseId, candidate));
}

/**
 * Withdraws what the promotion has submitted, and may have submitted before a reset, and waits for the release if there is
 * one. After that, the target starts no release for it.
 * @returns how the release ended; `null` if there is none.
 */
export async function withdraw(run: PromotionRun, why: string): Promise<HistoryRow | null> {
  const wasReset = messageGate().resets > 0;
  if (!run.hasSubmitted && !wasReset) return null;
  let releaseId = await withdrawOne(run, submissionOf(workflowInfo().runId), why);
  if (wasReset && (releaseId === null || run.joined))
    releaseId =
      (await withdrawOne(run, submissionOf(workflowInfo().originalExecutionRunId), why)) ?? run.releaseId;
  if (releaseId !== null) return awaitOwnRelease(run, releaseId);
  run.hasSubmitted = false;
  return null;
}

function withdrawOne(
  { journal, request }: PromotionRun,
  submission: string,
  why: string,
): Promise<string | null> {
  return journal.step('promote', 'withdraw', async (activities) => {
    const { to: target, store: recordStore } = request;
    const message = { target, recordStore, submission, by: promotionActor(request, why) };
    const { releaseId, attempt } = await activities.withdrawSubmission(message);
    return { result: releaseId, attempt, detail: releaseId ?? 'it had not arrived' };
  });
}

function submissionOf(runId: string): string {
  const { workflowId, originalExecutionRunId } = workflowInfo();
  return promotionSubmission(workflowId, originalExecutionRunId, runId);
}

export function describeRelease(
  { request }: PromotionRun,
  { releaseId, outcome, reason }: HistoryRow,
): string {
  return `${releaseId} on "${request.to.name}" ended ${outcome.replaceAll('_', ' ')}: ${reason}`;
}

/** Waits for a release, or for a rollback by its request id. */
export function awaitRelease(
  { journal, request }: PromotionRun,
  id: string,
  candidate?: PromotedFrom,
): Promise<HistoryRow> {
  return journal.step('promote', id, async (activities) => {
    const { to: target, store: recordStore } = request;
    const { row, attempt } = await activities.awaitRelease({ target, recordStore, id, candidate });
    return { result: row, attempt, detail: row.outcome };
  });
}

const STOPS_PROMOTIONS: ReadonlySet<string> = new Set([
  'failed',
  'rolled_back',
  'rollback_failed',
  'errored',
]);

/**
 * Decision: a bad release puts its target on hold, which stops further promotions towards it.
 * @returns whether the release was bad.
 */
export async function holdIfBad(
  { journal, request }: PromotionRun,
  { outcome }: HistoryRow,
  reason: string,
): Promise<boolean> {
  if (!STOPS_PROMOTIONS.has(outcome)) return false;
  const { to: target, store: recordStore } = request;
  const by = promotionActor(request, reason);
  await journal.step('promote', `hold ${target.name}`, async (activities) => {
    const { attempt } = await activities.holdTarget({ target, recordStore, by });
    return { result: undefined, attempt };
  });
  return true;
}

export function promotionActor(
  { name }: PromotionRequest,
  reason: string,
): Actor & { readonly reason: string } {
  return { who: 'slipway', from: `promotion ${name}`, reason: reason.slice(0, REASON_MAX_CHARACTERS) };
}

const REASON_MAX_CHARACTERS = 900;

function releaseRequest(
  { request, journal, candidate, before, interventions }: PromotionRun,
  sizeBytes: number,
): ReleaseRequest {
  const { to, from, store, release, freezes, overrideFreeze, requestedBy, name, approval } = request;
  if (candidate === null) throw new PromotionEnded({ outcome: 'errored', reason: 'nothing was chosen' });
  const skip = journal.progress.interventions.findLast(({ what, taken }) => what === FREEZE && taken);
  const why = requestedBy.reason === undefined ? '' : `: ${requestedBy.reason}`;
  return {
    ...release,
    // After a reset it joins the release of the original run.
    requestKey: promotionRequestKey(name, candidate.artifact, workflowInfo().originalExecutionRunId),
    target: to,
    artifact: artifactOf(candidate.artifact, store, sizeBytes),
    queue: 'all',
    recordStore: store,
    // Another release may run on the target, or begin before this one arrives.
    replaces: before?.activeRevisionId,
    commit: candidate.commit ?? undefined,
    committedAt: candidate.committedAt,
    freezes,
    // It is given already. Who says something to the release still proves it.
    approval: approval?.identity === undefined ? undefined : { ...approval, required: 0 },
    overrideFreeze: overrideFreeze === true || interventions.wasSkipped(FREEZE) || undefined,
    freezeSkippedBy: skip?.by.who,
    requestedBy: {
      ...requestedBy,
      // The proved name, if any: later promotions of this release compare it.
      who: interventions.requestedBy.who,
      reason: `promotion ${name} from ${from.name}${why}`.slice(0, REASON_MAX_CHARACTERS),
    },
  };
}

function artifactOf(identity: string, store: string, sizeBytes: number): Artifact {
  return identity.startsWith('image:')
    ? { kind: 'image', uri: identity.slice('image:'.length) }
    : { kind: 'tarball', digest: identity, sizeBytes, store };
}

export type Ending = Pick<PromotionResult, 'outcome' | 'reason'> &
  Partial<Pick<PromotionResult, 'code' | 'nothingToDo'>>;

/** Ends a promotion from within one of its parts. */
export class PromotionEnded extends Error {
  readonly ending: Ending;

  constructor(ending: Ending) {
    super(ending.reason);
    this.name = 'PromotionEnded';
    this.ending = ending;
  }
}
