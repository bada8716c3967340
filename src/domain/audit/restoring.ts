import { canonicalJson } from '@slipway/contract/json';

import {
  isSameRevision,
  namedRevision,
  revisionPhase,
  type RevisionSnapshot,
  withCopies,
} from '../deployment/revision.ts';
import type { KnownRevision, ReleaseRequest } from '../release/release.ts';
import { isQuarantined, restoreCandidates } from '../restore/restoreDecision.ts';
import {
  type ActivityFact,
  type Breach,
  CLOCKS_DIFFER_MS,
  firstChange,
  fromFirstRedeploy,
  type MessageFact,
  named,
  perWork,
  revisionOf,
  rollbackOf,
  type Rule,
  type TargetFacts,
  type WorkFact,
} from './facts.ts';
import { activeIn } from './revisions.ts';

/**
 * Rule 5: once a PATCH may have been applied, a failure restores. A restore tries no revision again after another,
 * and a rollback is never rolled back. A revision that a person left or that is quarantined is restored only by name.
 */
export const alwaysRestores = perWork((work, { target }) => [
  ...notRestored(work, target),
  ...restoredTwice(work),
  ...restoredQuarantined(work, target),
]);

function notRestored(work: WorkFact, target: TargetFacts): string[] {
  const { kind, activities, request, known, result } = work;
  if (kind === 'rollback' || result === null || result.outcome === 'released') return [];
  const patched = activities.findIndex(
    ({ name, mayHaveBeenTaken }) => name === 'patchDeployment' && mayHaveBeenTaken,
  );
  if (patched === -1 || (request as ReleaseRequest).onError?.then === 'stop') return [];
  if (named(activities.slice(patched), 'redeployRevision').length > 0) return [];
  const { baseline, revisionId, preemptedBy, knownRevisions } = result;
  const all = [...known, ...knownRevisions];
  const quarantined = all.filter(meanwhile('quarantine', work, target));
  const left = [...quarantined, ...knownRevisions.filter((revision) => revision.quarantined === true)];
  const candidates = restoreCandidates({
    to: preemptedBy?.to,
    baseline,
    known: all,
    avoid: [revisionId ?? [], ...left.map((one) => withCopies(all, one.revisionId))].flat(),
  });
  return candidates.length === 0
    ? []
    : [`its PATCH may have been taken, it ended ${result.outcome}, and nothing was restored`];
}

function restoredQuarantined(work: WorkFact, target: TargetFacts): string[] {
  const asked = rollbackOf(work)?.to;
  const isFreed = meanwhile('unquarantine', work, target);
  const known = work.known.filter((revision) => !isFreed(revision));
  return redeployed(work.activities)
    .filter((revisionId) => revisionId !== asked && isQuarantined(known, revisionId))
    .slice(0, 1)
    .map((revisionId) => `revision ${revisionId} was restored, although it is restored only by name`);
}

/** Whether a person has put a revision's artifact in quarantine, or ended that, while a release or a rollback ran. */
function meanwhile(
  kind: 'quarantine' | 'unquarantine',
  { startedAt, endedAt }: WorkFact,
  { said }: TargetFacts,
): (revision: KnownRevision) => boolean {
  const [from, until] = [startedAt - CLOCKS_DIFFER_MS, endedAt ?? Infinity];
  const artifacts = said.flatMap((fact) =>
    fact.kind === kind && fact.at >= from && fact.at <= until ? [fact.artifact] : [],
  );
  return ({ artifact }) => artifact !== undefined && artifacts.includes(artifact);
}

function redeployed(activities: readonly ActivityFact[]): string[] {
  return named(activities, 'redeployRevision').map(revisionOf);
}

/** A redeploy may be repeated at once after an unknown answer, but not after another revision was tried. */
function restoredTwice({ activities }: WorkFact): string[] {
  const asked = redeployed(activities);
  const turns = asked.filter((revisionId, index) => revisionId !== asked[index - 1]);
  return turns
    .filter((revisionId, index) => turns.indexOf(revisionId) !== index)
    .slice(0, 1)
    .map((revisionId) => `revision ${revisionId} was restored a second time after another one`);
}

/**
 * Rule 5: a restored revision runs only the checks that it passed when it was verified. If checks fail and it stays,
 * because they fail everywhere, no revision loses its verification.
 */
export const ownChecks = perWork((work, { target }, index) => [
  ...ranOtherChecks(work, target.works.slice(0, index)),
  ...lostVerification(work),
  ...lostChecks(work),
]);

/** Own checks were stored, or passed earlier: in the same release before any change, or by the same revision. */
function ranOtherChecks({ activities }: WorkFact, before: readonly WorkFact[]): string[] {
  const restoring = fromFirstRedeploy(activities);
  const changed = firstChange(activities);
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
        `revision ${revisionId} lost its verification although checks failed on more than one revision`,
    );
}

/** A copy that a redeploy made must keep its original's passed checks, because it is restored under them. */
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

/** The combination of a check and the revision that it ran on. */
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

/** For this long after a restore, a rollback that does not name the revision to leave changes nothing. */
const JUST_RESTORED_MS = 60_000;

/**
 * Rule 5: a rollback without a name leaves the revision that served when the person asked. The release that ran then
 * and the rollbacks after it must not end well with that revision serving. If something serves and nothing runs, such
 * a rollback is never refused.
 */
export const leavesWhatServed: Rule = ({ target }) =>
  target.said.flatMap((said) => {
    if (said.kind === 'rollback refused') return refusedIdle(target, said.at);
    return said.kind === 'rollback' && said.to === null ? stillServes(target, said) : [];
  });

function refusedIdle({ workflowId, works, said }: TargetFacts, at: number): Breach[] {
  const afresh = said.findLast(
    ({ kind, at: since }) => (kind === 'started afresh' || kind === 'retired') && since <= at,
  );
  const before = works.filter(({ startedAt }) => startedAt > (afresh?.at ?? 0) && startedAt <= at);
  const next = works.find(({ startedAt }) => startedAt > at);
  const isBusy = before.some(({ endedAt }) => endedAt === null || endedAt > at) || next?.kind === 'rollback';
  const serves = before.at(-1)?.result?.servingRevisionId ?? null;
  if (isBusy || serves === null) return [];
  return [{ workflowId, what: `a rollback was rejected while revision ${serves} served and nothing ran` }];
}

function stillServes(target: TargetFacts, asked: AskedRollback): Breach[] {
  const settling = settledBy(target, asked);
  const last = settling.at(-1);
  const left = asked.leaves ?? servedAt(target, settling, asked);
  if (last?.result == null || left === undefined || isNamed(last, left)) return [];
  if (settling.some((work) => hasNotServed(work, left, asked.at))) return [];
  const { outcome, servingRevisionId: serves } = last.result;
  const endsWell = outcome === 'released' || outcome === 'rolled_back' || outcome === 'aborted';
  const known = [...last.known, ...last.result.knownRevisions];
  if (!endsWell || serves === null || !isSameRevision(known, serves, left)) return [];
  const what = `a rollback was asked for while revision ${left} served, and it serves still`;
  return [{ workflowId: last.workflowId, what }];
}

/** The release that ran when a rollback was requested, and the rollbacks after it; empty while they run. */
function settledBy({ works, said, idle }: TargetFacts, { at }: AskedRollback): readonly WorkFact[] {
  const after = works.filter(({ endedAt }) => endedAt === null || endedAt > at);
  const next = after.findIndex(({ kind, startedAt }) => kind === 'release' && startedAt > at);
  const settling = next === -1 ? after : after.slice(0, next);
  const until = settling.at(-1)?.endedAt ?? null;
  if (until === null || (next === -1 && !idle)) return [];
  // A later message may have changed what the person wants.
  const isOverruled = said.some((other) => other.kind === 'rollback' && other.at > at && other.at <= until);
  return isOverruled ? [] : settling;
}

/** What served when an unnamed rollback was requested; `undefined` if unknown, or during or right after a restore. */
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
  const own = first.activities.findLast((activity) => isServing(activity, at));
  if (own !== undefined) return revisionOf(own);
  const followed = named(first.activities, 'awaitDeployed').findLast(({ scheduledAt }) => scheduledAt <= at);
  // The release's own revision may have become active before that was confirmed.
  if (followed !== undefined && !isPendingAfter(first, followed, at)) return undefined;
  const served = firstActive(first);
  const next = settling.find(({ startedAt }) => startedAt > at);
  // If the rollback found another one, somebody changed the deployment by hand, perhaps before they asked.
  return next === undefined || firstActive(next) === served ? served : undefined;
}

function firstActive({ activities }: WorkFact): string | undefined {
  return activities.map(activeIn).find((active) => active != null) ?? undefined;
}

/** Whether a revision belongs to a release that had not seen it serve so far. Then there is nothing to leave yet. */
function hasNotServed(
  { kind, startedAt, activities, result }: WorkFact,
  revisionId: string,
  at: number,
): boolean {
  if (kind !== 'release' || startedAt > at || result?.revisionId !== revisionId) return false;
  return !activities.some((activity) => isServing(activity, at) && revisionOf(activity) === revisionId);
}

/** Whether a later list shows that the followed revision was not deployed so far. */
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

/** Whether a person requested a revision by its name. */
function isNamed(work: WorkFact, revisionId: string): boolean {
  const named = namedRevision(rollbackOf(work) ?? {});
  const all = [...work.known, ...(work.result?.knownRevisions ?? [])];
  return named !== undefined && isSameRevision(all, named, revisionId);
}
