import { canonicalJson } from '@slipway/contract/canonicalJson';

import { isSameRevision, revisionPhase, type RevisionSnapshot, withCopies } from '../deployment/revision.ts';
import type { KnownRevision, ReleaseRequest, RollbackRequest } from '../release/release.ts';
import { isQuarantined, restoreCandidates } from '../restore/restoreDecision.ts';
import type { ActivityFact, MessageFact, Rule, TargetFacts, Violation, WorkFact } from './facts.ts';
import { activeIn } from './revisions.ts';

/**
 * Rule 5: once a PATCH was, or may have been, taken, a failure restores. A restore never goes round, and a rollback is
 * never rolled back. What a person left, or what is in quarantine, is restored only by name.
 */
export const alwaysRestores: Rule = ({ target }) =>
  target.works.flatMap((work) => [...notRestored(work), ...goneRound(work), ...restoredLeft(work)]);

function notRestored({ workflowId, kind, activities, request, known, result }: WorkFact): Violation[] {
  if (kind === 'rollback' || result === null || result.outcome === 'released') return [];
  const patched = activities.findIndex(
    ({ name, mayHaveBeenTaken }) => name === 'patchDeployment' && mayHaveBeenTaken,
  );
  if (patched === -1) return [];
  const restored = activities.slice(patched).some(({ name }) => name === 'redeployRevision');
  if (restored || (request as ReleaseRequest).onError?.then === 'stop') return [];
  const { baseline, revisionId, preemptedBy, knownRevisions } = result;
  const all = [...known, ...knownRevisions];
  const left = knownRevisions.filter(({ quarantined }) => quarantined === true);
  const candidates = restoreCandidates({
    to: preemptedBy?.to,
    baseline,
    known: all,
    avoid: [
      ...(revisionId === null ? [] : [revisionId]),
      ...left.flatMap((one) => withCopies(all, one.revisionId)),
    ],
  });
  if (candidates.length === 0) return [];
  const what = `its PATCH may have been taken, it ended ${result.outcome}, and nothing was put back`;
  return [{ rule: 5, workflowId, what }];
}

function restoredLeft({ workflowId, kind, activities, request, known, result }: WorkFact): Violation[] {
  const named = kind === 'rollback' ? (request as RollbackRequest).to : result?.preemptedBy?.to;
  const left = redeployed(activities).find(
    (revisionId) => revisionId !== named && isQuarantined(known, revisionId),
  );
  if (left === undefined) return [];
  return [
    { rule: 5, workflowId, what: `revision ${left} was restored, although it is restored only by name` },
  ];
}

/** The revisions that a release or a rollback redeployed, in order. */
function redeployed(activities: readonly ActivityFact[]): string[] {
  return activities
    .filter(({ name }) => name === 'redeployRevision')
    .map(({ input }) => String(input['revisionId']));
}

/** The same revision may be asked for again at once, after an unknown answer; not after another one was tried. */
function goneRound({ workflowId, activities }: WorkFact): Violation[] {
  const asked = redeployed(activities);
  const turns = asked.filter((revisionId, index) => revisionId !== asked[index - 1]);
  const repeated = turns.find((revisionId, index) => turns.indexOf(revisionId) !== index);
  if (repeated === undefined) return [];
  return [{ rule: 5, workflowId, what: `revision ${repeated} was put back a second time after another one` }];
}

/**
 * Rule 5, "What restoring means": a restored revision is asked only what it passed when it was verified. Where its checks
 * fail and it stays, because what fails everywhere is not the revision, none loses its verification.
 */
export const ownChecks: Rule = ({ target }) =>
  target.works.flatMap((work, index) => [
    ...askedMore(work, target.works.slice(0, index)),
    ...lostVerification(work),
    ...lostChecks(work),
  ]);

/**
 * Own checks are those that were kept, were passed in the same release before anything was changed, or were passed by the
 * same revision before.
 */
function askedMore({ workflowId, activities }: WorkFact, before: readonly WorkFact[]): Violation[] {
  const redeployed = activities.findIndex(({ name }) => name === 'redeployRevision');
  if (redeployed === -1) return [];
  const patched = activities.findIndex(({ name }) => name === 'patchDeployment');
  const own = new Set([
    ...activities.flatMap(({ result }) => (result?.['checks'] ?? []) as readonly unknown[]).map(identity),
    ...activities.slice(0, patched === -1 ? redeployed : patched).flatMap(checkOf),
  ]);
  const passed = before.flatMap((work) => work.activities.filter(hasPassed)).map(passOf);
  const others = activities
    .slice(redeployed)
    .filter((fact) => checkOf(fact).some((check) => !own.has(check)) && !passed.includes(passOf(fact)));
  return others.slice(0, 1).map(({ input }) => ({
    rule: 5,
    workflowId,
    what: `revision ${String(input['revisionId'])} was restored under a check that it had not passed before`,
  }));
}

function lostVerification({ workflowId, activities, known, result }: WorkFact): Violation[] {
  if (result?.outcome !== 'errored') return [];
  const redeployed = activities.findLastIndex(({ name }) => name === 'redeployRevision');
  const last = activities.slice(redeployed).findLast(({ name }) => name === 'runCheck');
  if (redeployed === -1 || last === undefined || hasPassed(last)) return [];
  const lost = result.knownRevisions.filter(
    ({ revisionId, verified }) =>
      !verified && known.some((other) => other.revisionId === revisionId && other.verified),
  );
  return lost.map(({ revisionId }) => ({
    rule: 5,
    workflowId,
    what: `revision ${revisionId} lost its verification where checks failed on more than one revision`,
  }));
}

/** A copy that a redeploy made must keep the checks that its original passed: it is restored under them. */
function lostChecks({ workflowId, known, result }: WorkFact): Violation[] {
  const news = result?.knownRevisions ?? [];
  const checksOf = new Map([...known, ...news].map(({ revisionId, checks }) => [revisionId, checks]));
  return news
    .filter(
      ({ copyOf, checks }) =>
        checks === undefined && copyOf !== undefined && checksOf.get(copyOf) !== undefined,
    )
    .map(({ revisionId }) => ({
      rule: 5,
      workflowId,
      what: `revision ${revisionId} is a copy and lost the checks that its original passed`,
    }));
}

function hasPassed({ outcome, result }: ActivityFact): boolean {
  const verdict = result?.['verdict'] as { readonly passed?: boolean } | undefined;
  return outcome === 'completed' && verdict?.passed === true;
}

/** Which check was asked of which revision. */
function passOf({ input }: ActivityFact): string {
  return `${String(input['revisionId'])} ${identity(input['check'])}`;
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
 * Rule 5, "What restoring means": a rollback without a name leaves the revision that served when the person asked. What ran
 * then, and the rollbacks right after it, must not end well with that revision still serving. Where something serves and
 * nothing runs, none is refused.
 */
export const leavesWhatServed: Rule = ({ target }) =>
  target.said.flatMap((said) => {
    if (said.kind === 'rollback refused') return refusedIdle(target, said.at);
    return said.kind === 'rollback' && said.to === null ? stillServes(target, said) : [];
  });

function refusedIdle({ workflowId, works, said }: TargetFacts, at: number): Violation[] {
  const afresh = said.findLast((other) => other.kind === 'started afresh' && other.at <= at)?.at ?? 0;
  const before = works.filter(({ startedAt }) => startedAt > afresh && startedAt <= at);
  const next = works.find(({ startedAt }) => startedAt > at);
  const isBusy = before.some(({ endedAt }) => endedAt === null || endedAt > at) || next?.kind === 'rollback';
  const serves = before.at(-1)?.result?.servingRevisionId ?? null;
  if (isBusy || serves === null) return [];
  return [
    { rule: 5, workflowId, what: `a rollback was refused while revision ${serves} served and nothing ran` },
  ];
}

function stillServes(target: TargetFacts, asked: AskedRollback): Violation[] {
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
  return [{ rule: 5, workflowId: last.workflowId, what }];
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
 * What served when a rollback was asked for that does not name it, as far as what ran shows; `undefined`: that is not
 * known, the target could not read it, or the rollback came during a restore or right after one.
 */
function servedAt(
  { works, activities }: TargetFacts,
  settling: readonly WorkFact[],
  { at }: AskedRollback,
): string | undefined {
  const lookedInVain = activities.some(
    ({ name, outcome, scheduledAt }) =>
      name === 'findDeployment' && outcome !== 'completed' && Math.abs(scheduledAt - at) < JUST_RESTORED_MS,
  );
  const isRestoring = works.some((work) =>
    work.activities.some(
      ({ name, scheduledAt }) =>
        name === 'redeployRevision' && scheduledAt <= at && at - scheduledAt < 2 * JUST_RESTORED_MS,
    ),
  );
  const [first] = settling;
  if (first === undefined || isRestoring || lookedInVain) return undefined;
  const look = first.activities.map(activeIn).find((active) => active != null);
  const own = first.activities.findLast((activity) => isServing(activity, at));
  if (own !== undefined) return String(own.input['revisionId']);
  const followed = first.activities.findLast(
    ({ name, scheduledAt }) => name === 'awaitDeployed' && scheduledAt <= at,
  );
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
  return !activities.some(
    (activity) => isServing(activity, at) && activity.input['revisionId'] === revisionId,
  );
}

/** Whether a later list shows that the revision that was followed has not been deployed so far. */
function isPendingAfter({ activities }: WorkFact, { input }: ActivityFact, at: number): boolean {
  return activities.some(({ name, scheduledAt, result }) => {
    if (name !== 'listRevisions' || scheduledAt < at) return false;
    const listed = (result?.['revisions'] ?? []) as readonly RevisionSnapshot[];
    const found = listed.find(({ revisionId }) => revisionId === input['revisionId']);
    return found !== undefined && revisionPhase(found.status) === 'pending';
  });
}

function isServing({ name, outcome, endedAt }: ActivityFact, at: number): boolean {
  return name === 'confirmServing' && outcome === 'completed' && endedAt !== null && endedAt <= at;
}

/** Whether a person, or the watch for late revisions, has asked for a revision by its name. */
function isNamed({ kind, request, known, result }: WorkFact, revisionId: string): boolean {
  const rollback = kind === 'rollback' ? (request as RollbackRequest) : result?.preemptedBy;
  const all: readonly KnownRevision[] = [...known, ...(result?.knownRevisions ?? [])];
  if (rollback?.to === undefined || rollback.from !== undefined) return false;
  return isSameRevision(all, rollback.to, revisionId);
}
