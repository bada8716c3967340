import { isSameRevision } from '../deployment/revision.ts';
import { GUARD_LATE_MS, guardRequestId } from '../guard/guardPolicy.ts';
import { EMPTY_TALLY, judgeRound } from '../guard/measurement.ts';
import { isRestoredByName } from '../guard/targetGuard.ts';
import type { ReleaseRequest, RollbackRequest } from '../release/release.ts';
import type { RollbackAnswer } from '../target/targetState.ts';
import {
  changesOf,
  CLOCKS_DIFFER_MS,
  type GuardFact,
  named,
  rollbackOf,
  type Rule,
  type TargetFacts,
  type WorkFact,
} from './facts.ts';

/** How late the server may end an activity that has no time left, in milliseconds. */
const ENDS_LATE_MS = 60_000;

/**
 * Rule 14: each release with a guard is guarded. The guard judges in its time, by its limits and its policy. If it finds
 * the revision worse, the target rolls back from that revision once, or the guard's result says why not. It guards until
 * its time is over, a rollback begins, or a release changes what serves. After that it rolls nothing back. If what it guards
 * serves all the same after that, it begins again.
 */
export const guarded: Rule = ({ target }) => [
  ...target.works
    .filter(({ workflowId, request, result }) => {
      const isGuarded = (request as ReleaseRequest).guard !== undefined && result?.outcome === 'released';
      return isGuarded && result.servingRevisionId !== null && target.unguarded.includes(workflowId);
    })
    .map(({ workflowId }) => ({ workflowId, what: 'its request has a guard, and none was started' })),
  ...target.guards.flatMap((guard) =>
    [
      ...outOfTime(guard),
      ...endedForNothing(guard, target),
      ...notBegunAgain(guard, target),
      ...notByItsLimits(guard),
      ...notOneRollback(guard, target),
    ].map((what) => ({ workflowId: guard.workflowId, what })),
  ),
];

function outOfTime({ activities, report, until }: GuardFact): string[] {
  const judgedAt = named(activities, 'guardRevision').at(-1)?.endedAt ?? null;
  if (judgedAt === null || report === null) return [];
  const { verdict } = report;
  if (verdict === 'passed' && judgedAt < until - CLOCKS_DIFFER_MS)
    return ['it ended as passed before its time was over'];
  if (verdict === 'worse' && judgedAt > until + GUARD_LATE_MS + ENDS_LATE_MS)
    return ['it judged its release long after its time was over'];
  return [];
}

/** How long after the end of a guard the server may start the rollback that ends it, in milliseconds. */
const STARTS_LATE_MS = 60_000;

function endedForNothing({ preemptedAt, since }: GuardFact, { works }: TargetFacts): string[] {
  if (preemptedAt === null) return [];
  const isEnded = works.some(({ startedAt, kind, announcesChange }) => {
    if (startedAt <= since) return false;
    if (kind === 'rollback') return startedAt <= preemptedAt + STARTS_LATE_MS;
    return announcesChange === true && startedAt <= preemptedAt;
  });
  return isEnded ? [] : ['the target ended it, and nothing was about to change what serves'];
}

/** The target has then seen the end of a work after which what it guards served, and started no guard. */
function notBegunAgain(
  { releaseId, revisionId, since, report, preemptedAt }: GuardFact,
  { workflowId, works, guards, said, unguarded }: TargetFacts,
): string[] {
  if (preemptedAt === null || report?.verdict !== 'preempted') return [];
  const requestId = guardRequestId(workflowId, releaseId);
  const isDecided = said.some(
    (message) =>
      (message.kind === 'rollback' && message.requestId === requestId) ||
      ((message.kind === 'retired' || message.kind === 'started afresh') && message.at > since),
  );
  const next = Math.min(...guards.map((other) => other.since).filter((other) => other > since));
  const kept = works.find((work) => {
    if (work.result === null || !unguarded.includes(work.workflowId)) return false;
    const { servingRevisionId: serving, knownRevisions, steps } = work.result;
    const endedAt = Date.parse(work.result.endedAt);
    const known = [...work.known, ...knownRevisions];
    if (endedAt < preemptedAt || endedAt >= next || serving === null) return false;
    return isSameRevision(known, serving, revisionId) && !isRestoredByName(rollbackOf(work), steps);
  });
  if (isDecided || kept === undefined) return [];
  return [
    `the target ended it for nothing: it still served after ${kept.workflowId}, and it did not begin again`,
  ];
}

function notByItsLimits({ policy, report }: GuardFact): string[] {
  if (report?.verdict !== 'worse') return [];
  const { breach } = report;
  if (breach === undefined) return ['it found its release worse, and does not say which metric is'];
  const { metric, kind, value, before = null } = breach;
  const judged = judgeRound(policy, [{ metric, value, before }], EMPTY_TALLY, true).breach;
  if (judged?.kind === kind) return [];
  return kind === 'no_data'
    ? [`${metric} had no data, and it asked for a rollback against its policy`]
    : [`${metric} is within its limits, and it asked for a rollback`];
}

function notOneRollback(guard: GuardFact, { works, said, idle, guards }: TargetFacts): string[] {
  const { releaseId, revisionId, report, answer, activities } = guard;
  // A guard that began again is a guard of its own, of the same release. At most one of them has the rollback.
  const isAnothers = guards.some(
    (other) => other !== guard && other.releaseId === releaseId && isAccepted(other),
  );
  const own =
    isAnothers && !isAccepted(guard)
      ? []
      : works.filter(
          ({ kind, request }) => kind === 'rollback' && (request as RollbackRequest).guard === releaseId,
        );
  const [rollback, again] = own;
  if (report?.verdict === 'worse' && answer === null)
    return ['it found its release worse, and has neither a rollback nor a reason for none'];
  if (rollback === undefined) {
    const asked = named(activities, 'rollBackTarget').at(-1)?.result?.['answer'] as
      RollbackAnswer | undefined;
    const isMissing = idle && asked?.disposition === 'queued';
    return isMissing ? ['the target accepted its rollback, and none began'] : [];
  }
  const { from, requestId } = rollback.request as RollbackRequest;
  const accepted = said.find((message) => message.kind === 'rollback' && message.requestId === requestId);
  const acceptedAt = accepted?.at ?? rollback.startedAt;
  const begun = guards.filter((other) => other.releaseId === releaseId && other.since <= acceptedAt);
  const since = Math.max(...begun.map((other) => other.since));
  const other = works.find((work) => work.startedAt > since && changesFrom(work) < acceptedAt);
  return [
    ...(again === undefined ? [] : ['the target rolled back for it more than once']),
    ...(report === null || report.verdict === 'worse'
      ? []
      : [`it ended as ${report.verdict}, and the target rolled back for it`]),
    ...(from === revisionId ? [] : [`it guards revision ${revisionId}, and its rollback left another one`]),
    ...(other === undefined
      ? []
      : [`the target rolled back for it after ${other.workflowId} had changed what serves`]),
  ];
}

/** Whether the target accepted the rollback of a guard. */
function isAccepted({ activities }: GuardFact): boolean {
  const asked = named(activities, 'rollBackTarget').at(-1);
  const answer = asked?.result?.['answer'] as RollbackAnswer | undefined;
  return asked !== undefined && answer?.disposition !== 'ignored';
}

/** When a release first changes what serves, or when a rollback begins. */
function changesFrom(work: WorkFact): number {
  return work.kind === 'rollback' ? work.startedAt : (changesOf(work)[0]?.scheduledAt ?? Infinity);
}
