import { isSameRevision, revisionPhase, type RevisionSnapshot } from '../deployment/revision.ts';
import type { KnownRevision, RollbackRequest } from '../release/release.ts';
import type { ActivityFact, MessageFact, TargetFacts, WorkFact } from './facts.ts';
import { activeIn } from './ownRevision.ts';
import type { Rule, Violation } from './violation.ts';

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
