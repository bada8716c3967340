import {
  isSameRevision,
  leaveRevision,
  namedRevision,
  withCopies,
} from '../../domain/deployment/revision.ts';
import { isOutcomeUnknown } from '../../domain/failure.ts';
import type { Outcome } from '../../domain/release/outcome.ts';
import type { Baseline, KnownRevision, ReleaseResult } from '../../domain/release/release.ts';
import { type Finding, isQuarantined, isVerified } from '../../domain/restore/restoreDecision.ts';
import { now } from '../journal.ts';
import {
  isSilent,
  readActive,
  restore,
  type Restored,
  type RestoreOrder,
  servesAgain,
} from '../restore/restore.ts';
import { Settings } from '../restore/settings.ts';
import { readWhatServes } from '../target/looks.ts';
import { adoptRestored, correctBaseline } from './baseline.ts';
import type { Ending } from './conclude.ts';
import { missedText, reportRestoring } from './preempted.ts';
import { finish, type Run, type Setback } from './run.ts';
import { findExtraRevisions } from './ship.ts';

/**
 * Ends a release that failed, was canceled or makes way for a rollback. Undoes the PATCH if it may have been applied.
 *
 * Run it in a non-cancellable scope.
 */
export function restoreAfterSetback(run: Run, setback: Setback): Promise<ReleaseResult> {
  return run.undoPatch === null ? endUnchanged(run, setback) : run.undoPatch(setback);
}

async function endUnchanged(run: Run, setback: Setback): Promise<ReleaseResult> {
  const serving = await servingUnchanged(run, setback);
  const outcome = untouchedOutcome(setback);
  const why = describeSetback(setback);
  return finish(run, {
    ...common(setback),
    outcome,
    reason: outcome === 'errored' ? why : `${why}; this release changed nothing that served`,
    servingRevisionId: serving?.revisionId ?? null,
    servingVerified: serving?.verified ?? false,
  });
}

/**
 * What serves after a release that changed nothing; `null` if that is not known. The baseline of a release that was
 * stopped may be weeks old, and is read again. A rollback waits for this read only if it asks for the baseline: if that
 * serves, the rollback is done.
 */
async function servingUnchanged(run: Run, { stopped, preemptedBy }: Setback): Promise<Baseline | null> {
  const { request, baseline, knownBefore } = run;
  if (!stopped || baseline === null) return baseline;
  const { revisionId } = baseline;
  if (preemptedBy !== null) {
    const { to, from } = preemptedBy;
    if (from !== undefined) return from === revisionId ? baseline : null;
    if (to === undefined || revisionId === null || !isSameRevision(knownBefore, to, revisionId)) return null;
    return (await readWhatServes(request)) === revisionId ? baseline : null;
  }
  const active = await readWhatServes(request);
  if (active !== undefined) correctBaseline(run, active);
  return run.baseline;
}

/**
 * Undoes a PATCH that was, or may have been, applied: restores the best earlier revision, unless `onError` says stop.
 */
export async function restoreWhatServed(
  run: Run,
  deploymentId: string,
  setback: Setback,
): Promise<ReleaseResult> {
  const { journal, request } = run;
  const { lastGood } = run.input;
  // The release has just used this address. An earlier one may be gone.
  const isSameAddress = lastGood?.controlPlane === request.target.controlPlane;
  const settings = new Settings(isSameAddress ? lastGood : null, request.target);
  if (!setback.stopped && request.onError?.then === 'stop' && isOutcomeUnknown(setback.failure.code))
    return leaveWhatServes(run, deploymentId, setback, settings);
  if (setback.failure.code === 'SLIPWAY_REVISION_REPLACED') await adoptRestored(run);
  const found = await whatWasFound(run, deploymentId);
  run.knownRevisions.push(...run.left.flatMap((left) => leftWord(run, left)));
  const order = restoreOrder(run, deploymentId, setback, settings, found);
  await reportRestoring(journal, order);
  const restored = await restore(journal, order);
  run.knownRevisions.push(...restored.knownRevisions);
  const extraRevisionIds = await findExtraRevisions(run);
  const givenUpRevisionIds = [
    ...givenUp(run, setback),
    ...extraRevisionIds,
    ...(restored.ok ? restored.givenUpRevisionIds : []),
  ];
  const { copyRevisionIds } = restored;
  const ending = restored.ok
    ? restoredEnding(run, restored, setback, order)
    : await couldNotRestore(run, deploymentId, restored, setback, settings);
  return finish(run, {
    ...common(setback),
    extraRevisionIds,
    givenUpRevisionIds,
    copyRevisionIds,
    ...ending,
  });
}

function restoreOrder(
  run: Run,
  deploymentId: string,
  { preemptedBy }: Setback,
  settings: Settings,
  found: readonly Finding[],
): RestoreOrder {
  const { request, revisionId, left, known, baseline, passed, objectPath } = run;
  const own = revisionId === null ? [] : [revisionId];
  const named = preemptedBy === null ? undefined : namedRevision(preemptedBy);
  return {
    settings,
    deploymentId,
    recordStore: request.recordStore,
    // The target chose it when it was asked: a person may have left it since, or put it in quarantine.
    to: named ?? (isQuarantined(known, preemptedBy?.to) ? undefined : preemptedBy?.to),
    named,
    manual: preemptedBy !== null,
    baseline,
    known,
    passed,
    found,
    // A person may ask to leave another one during the restore, or quarantine it.
    get avoid() {
      const quarantined = run.quarantined ?? [];
      return [...own, ...quarantined, ...left.flatMap((other) => withCopies(known, other))];
    },
    shippedPath: objectPath,
  };
}

/** The ending if a revision was restored, even if it failed again and stays. */
function restoredEnding(
  run: Run,
  restored: Restored & { readonly ok: true },
  setback: Setback,
  { settings, found }: RestoreOrder,
): Ending {
  const { revisionId, agentUrl, verified, failed } = restored;
  run.agentUrl = agentUrl;
  const cause = `${describeSetback(setback)}${silentBefore(run, found)}`;
  const missed = missedText(run.journal, setback.preemptedBy, run.known, revisionId);
  const serving = { servingRevisionId: revisionId, servingVerified: verified };
  const { code } = common(setback);
  if (failed !== null) {
    return {
      ...serving,
      outcome: 'errored',
      code: code ?? failed.code,
      reason: `${cause}; ${missed}${failed.reason}`,
      stuck: { code: failed.code, attempted: [], restored: revisionId },
    };
  }
  return {
    ...serving,
    code: missed === '' ? code : 'SLIPWAY_REVISION_NOT_REACHED',
    outcome: restoredOutcome(setback),
    reason: `${cause}; ${missed}${servesAgain(restored, run.known)}`,
    settingsWorked: settings.areNewest || undefined,
  };
}

/** Ends a release without a restore (`onError: stop`). Later active revisions are still countered. */
async function leaveWhatServes(
  run: Run,
  deploymentId: string,
  setback: Setback,
  { current }: Settings,
): Promise<ReleaseResult> {
  // Both reads run concurrently: if the control plane is down, the release waits for it only once.
  const [extraRevisionIds, active] = await Promise.all([
    findExtraRevisions(run),
    readActive(run.journal, current, deploymentId),
  ]);
  return finish(run, {
    ...common(setback),
    outcome: 'errored',
    reason: `${describeSetback(setback)}; nothing was restored, as "onError: stop" asks`,
    servingRevisionId: active ?? null,
    servingVerified: isVerified(run.known, active ?? null),
    extraRevisionIds,
    givenUpRevisionIds: [...givenUp(run, setback), ...extraRevisionIds],
  });
}

function common({ failure, stopped, preemptedBy }: Setback): Pick<Ending, 'code' | 'preemptedBy'> {
  return { code: stopped ? null : failure.code, preemptedBy };
}

/** The known revision that a person asked to leave, marked as left. The result of the release carries it. */
function leftWord({ known }: Run, left: string): readonly KnownRevision[] {
  return leaveRevision(known, left, now()).filter(({ revisionId }) => revisionId === left);
}

/** The failures on the release's own revision and the baseline. What fails on both does not blame the new one. */
async function whatWasFound(run: Run, deploymentId: string): Promise<readonly Finding[]> {
  const { journal, request, checked, foundBefore, revisionId } = run;
  if (checked !== null) return checked.finding === null ? foundBefore : [...foundBefore, checked.finding];
  if (revisionId === null) return foundBefore;
  const silent = await isSilent(journal, { target: request.target, deploymentId, revisionId });
  return silent ? [...foundBefore, { failedCheck: null, silent }] : foundBefore;
}

/** If the agent is silent: adds that the release's settings did not reach the baseline either. */
function silentBefore({ baseline }: Run, found: readonly Finding[]): string {
  if (baseline?.silent === undefined || !found.some(({ silent }) => silent)) return '';
  return `; the agent did not answer under the settings of this release before anything was changed either (${baseline.silent})`;
}

/**
 * The ending if no revision could be restored: failed if none of ours serves and none served before, else a person is
 * needed.
 */
async function couldNotRestore(
  run: Run,
  deploymentId: string,
  restored: Restored & { readonly ok: false },
  setback: Setback,
  { current }: Settings,
): Promise<Ending> {
  const why = describeSetback(setback);
  const active = await readActive(run.journal, current, deploymentId);
  const before = run.baseline?.revisionId ?? null;
  const ours = run.revisionId === null ? active !== before : active === run.revisionId;
  // A newer push, or the removal, replaces what a preview serves.
  const mayServe = !ours || (run.request.target.preview === true && setback.stopped);
  if (restored.nothingToRestore && active !== undefined && mayServe) {
    const serves =
      active === null ? 'nothing served before, and nothing does now' : `revision ${active} serves`;
    return {
      outcome: untouchedOutcome(setback),
      reason: `${why}; ${serves}`,
      servingRevisionId: active,
      servingVerified: isVerified(run.known, active),
    };
  }
  return {
    outcome: 'rollback_failed',
    reason: `${why}; ${restored.reason}`,
    servingRevisionId: active ?? null,
    servingVerified: isVerified(run.known, active ?? null),
    stuck: { code: restored.code, attempted: restored.attempted },
  };
}

/** Without a period at the end, which people and services may write: the text goes on behind it. */
function describeSetback(setback: Setback): string {
  return whyStopped(setback).replace(/\.$/, '');
}

function whyStopped({ failure, stopped, stopReason, preemptedBy }: Setback): string {
  if (preemptedBy !== null) {
    const { who, reason } = preemptedBy.requestedBy;
    return `stopped by a rollback by ${who}${reason === undefined ? '' : `: ${reason}`}`;
  }
  if (stopReason !== null) return stopReason;
  if (failure.canceled) return 'canceled in Temporal, or its target was terminated';
  return stopped ? `canceled: ${failure.message}` : failure.message;
}

function untouchedOutcome({ failure, stopped }: Setback): Outcome {
  if (failure.code === 'SLIPWAY_OUTCOME_UNKNOWN') return 'errored';
  return stopped ? 'aborted' : 'failed';
}

function restoredOutcome({ failure, stopped, preemptedBy }: Setback): Outcome {
  if (preemptedBy !== null) return 'rolled_back';
  if (stopped) return 'aborted';
  return failure.code === 'SLIPWAY_OUTCOME_UNKNOWN' ? 'errored' : 'rolled_back';
}

/** The release's own revision, if it was given up on. The control plane may still switch to it. */
function givenUp(run: Run, { failure }: Setback): readonly string[] {
  if (run.revisionId === null || failure.code === 'SLIPWAY_REVISION_FAILED') return [];
  const served = run.journal.progress.steps.some(
    (step) => step.step === 'serving' && !step.restoring && step.status === 'done',
  );
  return served ? [] : [run.revisionId];
}
