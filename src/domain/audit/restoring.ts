import { canonicalJson } from '@slipway/contract/canonicalJson';

import { isSameRevision, revisionPhase, type RevisionSnapshot, withCopies } from '../deployment/revision.ts';
import type { ReleaseRequest, RollbackRequest } from '../release/release.ts';
import { isQuarantined, restoreCandidates } from '../restore/restoreDecision.ts';
import {
  type ActivityFact,
  type Breach,
  fromFirst,
  type MessageFact,
  named,
  perWork,
  revisionOf,
  type Rule,
  type TargetFacts,
  type WorkFact,
} from './facts.ts';
import { activeIn } from './revisions.ts';

/**
 * Rule 5: once a PATCH may have been taken, a failure restores. A restore never goes round, and a rollback is never
 * rolled back. What a person left, or what is in quarantine, is restored only by name.
 */
export const alwaysRestores = perWork((work) => [
  ...notRestored(work),
  ...goneRound(work),
  ...restoredLeft(work),
]);

function notRestored({ kind, activities, request, known, result }: WorkFact): string[] {
  if (kind === 'rollback' || result === null || result.outcome === 'released') return [];
  const patched = activities.findIndex(
    ({ name, mayHaveBeenTaken }) => name === 'patchDeployment' && mayHaveBeenTaken,
  );
  const isRestored = named(activities.slice(patched), 'redeployRevision').length > 0;
  if (patched === -1 || isRestored || (request as ReleaseRequest).onError?.then === 'stop') return [];
  const { baseline, revisionId, preemptedBy, knownRevisions } = result;
  const all = [...known, ...knownRevisions];
  const left = knownRevisions.filter(({ quarantined }) => quarantined === true);
  const candidates = restoreCandidates({
    to: preemptedBy?.to,
    baseline,
    known: all,
    avoid: [revisionId ?? [], ...left.map((one) => withCopies(all, one.revisionId))].flat(),
  });
  return candidates.length === 0
    ? []
    : [`its PATCH may have been taken, it ended ${result.outcome}, and nothing was put back`];
}

function restoredLeft({ kind, activities, request, known, result }: WorkFact): string[] {
  const asked = kind === 'rollback' ? (request as RollbackRequest).to : result?.preemptedBy?.to;
  return redeployed(activities)
    .filter((revisionId) => revisionId !== asked && isQuarantined(known, revisionId))
    .slice(0, 1)
    .map((revisionId) => `revision ${revisionId} was restored, although it is restored only by name`);
}

/** The revisions that a release or a rollback redeployed, in order. */
function redeployed(activities: readonly ActivityFact[]): string[] {
  return named(activities, 'redeployRevision').map(revisionOf);
}

/** The same revision may be asked for again at once, after an unknown answer; not after another one was tried. */
function goneRound({ activities }: WorkFact): string[] {
  const asked = redeployed(activities);
  const turns = asked.filter((revisionId, index) => revisionId !== asked[index - 1]);
  return turns
    .filter((revisionId, index) => turns.indexOf(revisionId) !== index)
    .slice(0, 1)
    .map((revisionId) => `revision ${revisionId} was put back a second time after another one`);
}

/**
 * Rule 5: a restored revision is asked only what it passed when it was verified. If its checks fail and it stays,
 * because what fails everywhere is not the revision, none loses its verification.
 */
export const ownChecks = perWork((work, { target }, index) => [
  ...askedMore(work, target.works.slice(0, index)),
  ...lostVerification(work),
  ...lostChecks(work),
]);

/** Own checks were kept, or passed in the same release before anything was changed, or by the same revision before. */
function askedMore({ activities }: WorkFact, before: readonly WorkFact[]): string[] {
  const restoring = fromFirst(activities, 'redeployRevision');
  const changed = activities.findIndex(
    ({ name }) => name === 'patchDeployment' || name === 'redeployRevision',
  );
  const own = new Set([
    ...activities.flatMap(({ result }) => (result?.['checks'] ?? []) as readonly unknown[]).map(identity),
    ...activities.slice(0, Math.max(changed, 0)).flatMap(checkOf),
  ]);
  const passed = before.flatMap((work) => work.activities.filter(hasPassed)).map(passOf);
  return restoring
    .filter((fact) => checkOf(fact).some((check) => !own.has(check)) && !passed.includes(passOf(fact)))
    .slice(0, 1)
    .map((fact) => `revision ${revisionOf(fact)} was restored under a check that it had not passed before`);
}

function lostVerification({ activities, known, result }: WorkFact): string[] {
  const redeployedAt = activities.findLastIndex(({ name }) => name === 'redeployRevision');
  const last = named(activities.slice(redeployedAt), 'runCheck').at(-1);
  if (result?.outcome !== 'errored' || redeployedAt === -1 || last === undefined || hasPassed(last))
    return [];
  const wasVerified = new Set(known.filter(({ verified }) => verified).map(({ revisionId }) => revisionId));
  return result.knownRevisions
    .filter(({ revisionId, verified }) => !verified && wasVerified.has(revisionId))
    .map(
      ({ revisionId }) =>
        `revision ${revisionId} lost its verification where checks failed on more than one revision`,
    );
}

/** A copy that a redeploy made must keep the checks that its original passed: it is restored under them. */
function lostChecks({ known, result }: WorkFact): string[] {
  const news = result?.knownRevisions ?? [];
  const checksOf = new Map([...known, ...news].map(({ revisionId, checks }) => [revisionId, checks]));
  return news
    .filter(({ copyOf = '', checks }) => checks === undefined && checksOf.get(copyOf) !== undefined)
    .map(({ revisionId }) => `revision ${revisionId} is a copy and lost the checks that its original passed`);
}

function hasPassed({ outcome, result }: ActivityFact): boolean {
  const verdict = result?.['verdict'] as { readonly passed?: boolean } | undefined;
  return outcome === 'completed' && verdict?.passed === true;
}

/** Which check was asked of which revision. */
function passOf(fact: ActivityFact): string {
  return `${revisionOf(fact)} ${identity(fact.input['check'])}`;
}

function checkOf({ name, input }: ActivityFact): string[] {
  return name === 'runCheck' ? [identity(input['check'])] : [];
}

function identity(check: unknown): string {
  return canonicalJson(check ?? null);
}

type AskedRollback = Extract<MessageFact, { readonly kind: 'rollback' }>;

/** For so long after a restore, a rollback that does not name what it leaves changes nothing. */
const JUST_RESTORED_MS = 60_000;

/**
 * Rule 5: a rollback without a name leaves the revision that served when the person asked. What ran then, and the
 * rollbacks after it, must not end well with that revision serving. If something serves and nothing runs, none is
 * refused.
 */
export const leavesWhatServed: Rule = ({ target }) =>
  target.said.flatMap((said) => {
    if (said.kind === 'rollback refused') return refusedIdle(target, said.at);
    return said.kind === 'rollback' && said.to === null ? stillServes(target, said) : [];
  });

function refusedIdle({ workflowId, works, said }: TargetFacts, at: number): Breach[] {
  const afresh = said.findLast((other) => other.kind === 'started afresh' && other.at <= at)?.at ?? 0;
  const before = works.filter(({ startedAt }) => startedAt > afresh && startedAt <= at);
  const next = works.find(({ startedAt }) => startedAt > at);
  const isBusy = before.some(({ endedAt }) => endedAt === null || endedAt > at) || next?.kind === 'rollback';
  const serves = before.at(-1)?.result?.servingRevisionId ?? null;
  if (isBusy || serves === null) return [];
  return [{ workflowId, what: `a rollback was refused while revision ${serves} served and nothing ran` }];
}

function stillServes(target: TargetFacts, asked: AskedRollback): Breach[] {
  const settling = settledBy(target, asked);
  const last = settling.at(-1);
  const left = asked.leaves ?? servedAt(target, settling, asked);
  if (last?.result == null || left === undefined || isNamed(last, left)) return [];
  if (settling.some((work) => isToServeYet(work, left, asked.at))) return [];
  const { outcome, servingRevisionId: serves } = last.result;
  const endsWell = outcome === 'released' || outcome === 'rolled_back' || outcome === 'aborted';
  const known = [...last.known, ...last.result.knownRevisions];
  if (!endsWell || serves === null || !isSameRevision(known, serves, left)) return [];
  const what = `a rollback was asked for while revision ${left} served, and it serves still`;
  return [{ workflowId: last.workflowId, what }];
}

/** What ran when a rollback was asked for, and the rollbacks after it; nothing while they go on. */
function settledBy({ works, said, idle }: TargetFacts, { at }: AskedRollback): readonly WorkFact[] {
  const after = works.filter(({ endedAt }) => endedAt === null || endedAt > at);
  const next = after.findIndex(({ kind, startedAt }) => kind === 'release' && startedAt > at);
  const settling = next === -1 ? after : after.slice(0, next);
  const until = settling.at(-1)?.endedAt ?? null;
  const isSettled = next !== -1 || idle;
  // A later message of another kind may have changed what is wanted.
  const isOverruled = said.some(
    (other) => other.kind === 'rollback' && other.at > at && until !== null && other.at <= until,
  );
  return isSettled && until !== null && !isOverruled ? settling : [];
}

/**
 * What served when an unnamed rollback was asked for; `undefined`: unknown, or it came during or right after a
 * restore.
 */
function servedAt(
  { works, activities }: TargetFacts,
  settling: readonly WorkFact[],
  { at }: AskedRollback,
): string | undefined {
  const lookedInVain = named(activities, 'findDeployment').some(
    ({ outcome, scheduledAt }) => outcome !== 'completed' && Math.abs(scheduledAt - at) < JUST_RESTORED_MS,
  );
  const isRestoring = works
    .flatMap((work) => named(work.activities, 'redeployRevision'))
    .some(({ scheduledAt }) => scheduledAt <= at && at - scheduledAt < 2 * JUST_RESTORED_MS);
  const [first] = settling;
  if (first === undefined || isRestoring || lookedInVain) return undefined;
  const look = first.activities.map(activeIn).find((active) => active != null);
  const own = first.activities.findLast((activity) => isServing(activity, at));
  if (own !== undefined) return revisionOf(own);
  const followed = named(first.activities, 'awaitDeployed').findLast(({ scheduledAt }) => scheduledAt <= at);
  // Its own revision may have become the active one before it was confirmed.
  const mayServe = followed !== undefined && !isPendingAfter(first, followed, at);
  return mayServe ? undefined : (look ?? undefined);
}

/** Whether a revision is that of a release which had not seen it serve so far: there is nothing to leave yet. */
function isToServeYet(
  { kind, startedAt, activities, result }: WorkFact,
  revisionId: string,
  at: number,
): boolean {
  if (kind !== 'release' || startedAt > at || result?.revisionId !== revisionId) return false;
  return !activities.some((activity) => isServing(activity, at) && revisionOf(activity) === revisionId);
}

/** Whether a later list shows that the revision that was followed has not been deployed so far. */
function isPendingAfter({ activities }: WorkFact, followed: ActivityFact, at: number): boolean {
  return named(activities, 'listRevisions').some(({ scheduledAt, result }) => {
    const listed = (result?.['revisions'] ?? []) as readonly RevisionSnapshot[];
    const found = listed.find(({ revisionId }) => revisionId === revisionOf(followed));
    return scheduledAt >= at && found !== undefined && revisionPhase(found.status) === 'pending';
  });
}

function isServing({ name, outcome, endedAt }: ActivityFact, at: number): boolean {
  return name === 'confirmServing' && outcome === 'completed' && endedAt !== null && endedAt <= at;
}

/** Whether a person, or the watch for late revisions, has asked for a revision by its name. */
function isNamed({ kind, request, known, result }: WorkFact, revisionId: string): boolean {
  const rollback = kind === 'rollback' ? (request as RollbackRequest) : result?.preemptedBy;
  const all = [...known, ...(result?.knownRevisions ?? [])];
  if (rollback?.to === undefined || rollback.from !== undefined) return false;
  return isSameRevision(all, rollback.to, revisionId);
}
