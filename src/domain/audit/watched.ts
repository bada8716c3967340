import type { ReleaseResult } from '../release/release.ts';
import { losesTrack } from '../target/lateRevisions.ts';
import {
  type ActivityFact,
  type Breach,
  named,
  type Rule,
  type TargetFacts,
  type WorkFact,
} from './facts.ts';

/**
 * Rule 6: a late revision is watched, also beside other work, and countered when it becomes active. It is never
 * dropped without a read, and is never a baseline. An upload whose PATCH was not answered is watched in the same way.
 */
export const watched: Rule = ({ target }) =>
  target.works.flatMap(({ workflowId, result, endedAt }, index) => {
    if (result?.servingRevisionId == null || endedAt === null) return [];
    const later = target.works.slice(index + 1);
    const late = [...lateRevisions(target, result, later), ...lateUpload(target, result, later)];
    return [
      ...late.flatMap((one) => missed(one, result, later)).map((what) => ({ workflowId, what })),
      ...late.flatMap((one) => tookForBaseline(one, result, later)),
    ];
  });

/** What may still change the deployment after its work has ended. */
interface Late {
  readonly what: string;
  readonly revisionId?: string;
  /** Oldest first. */
  readonly watches: readonly ActivityFact[];
  /** Whether the target has had time to watch it to its end, and nothing has made that unnecessary. */
  readonly isDue: boolean;
}

function lateRevisions(target: TargetFacts, result: ReleaseResult, later: readonly WorkFact[]): Late[] {
  return result.givenUpRevisionIds.map((revisionId) => ({
    what: `revision ${revisionId} was abandoned`,
    revisionId,
    watches: watchesOf(target, 'awaitLateSuccess', 'revisionId', revisionId),
    isDue: hasTimeFor(target, later) && !hasServed(revisionId, result, later),
  }));
}

function lateUpload(target: TargetFacts, result: ReleaseResult, later: readonly WorkFact[]): Late[] {
  const path = result.unansweredUpload;
  // A terminated work has no result: what it made is unknown, as after a failed restore.
  const isLost = (work: WorkFact): boolean =>
    work.result === null ? work.endedAt !== null : losesTrack(work.result);
  if (path === undefined || losesTrack(result) || later.some(isLost)) return [];
  const watches = watchesOf(target, 'awaitLateUpload', 'objectPath', path);
  return [{ what: `a PATCH of ${path} went unanswered`, watches, isDue: hasTimeFor(target, later) }];
}

function missed(one: Late, result: ReleaseResult, later: readonly WorkFact[]): string[] {
  const { what, watches, isDue } = one;
  const due = isDue ? [...forgotten(watches), ...notCountered(watches, later)] : [];
  return [...due, ...leftAlone(one, result, later)].map((how) => `${what}, ${how}`);
}

/** Whether the target has done all its work, and no release is still open. */
function hasTimeFor({ idle }: TargetFacts, later: readonly WorkFact[]): boolean {
  return idle && later.every(({ endedAt }) => endedAt !== null);
}

function forgotten(watches: readonly ActivityFact[]): string[] {
  const last = watches.at(-1);
  if (last === undefined) return ['and the target does not watch it'];
  const isLook =
    last.outcome !== 'timed_out' && last.outcome !== 'canceled' && last.abandonedAt === undefined;
  return isLook ? [] : ['and the target forgot it without a last look'];
}

function notCountered(watches: readonly ActivityFact[], later: readonly WorkFact[]): string[] {
  const last = watches.at(-1);
  if (last?.result?.['cameUp'] !== true) return [];
  const { endedAt: seenAt } = last;
  const isCountered = later.some(({ endedAt }) => seenAt !== null && endedAt !== null && endedAt > seenAt);
  return isCountered ? [] : ['became active, and was not countered'];
}

/** Watches that a reset ended too early: they had no answer, were still needed, and were not resumed. */
function leftAlone(
  { revisionId, watches }: Late,
  result: ReleaseResult,
  later: readonly WorkFact[],
): string[] {
  return watches.flatMap(({ scheduledAt: from, abandonedAt: to = Infinity }) => {
    const work = later.find(({ endedAt }) => (endedAt ?? Infinity) > to);
    if (work === undefined) return [];
    const isResumed = watches.some(({ scheduledAt: at }) => at >= to && at < (work.endedAt ?? Infinity));
    const before = watches.findLast(
      (other) => other.abandonedAt === undefined && other.scheduledAt >= from && other.scheduledAt < to,
    );
    const isAnswered = before?.outcome === 'completed';
    const wasServing =
      revisionId !== undefined && hasServed(revisionId, result, later.slice(0, later.indexOf(work)));
    if (isResumed || isAnswered || wasServing) return [];
    return `and the target did not watch it while ${work.workflowId} ran`;
  });
}

/** A release whose failure restores a late revision, unless that served on purpose since, or was dropped. */
function tookForBaseline(
  { revisionId, watches }: Late,
  result: ReleaseResult,
  later: readonly WorkFact[],
): Breach[] {
  return later.flatMap(({ workflowId, startedAt, result: own }, index) => {
    if (revisionId === undefined || own?.baseline?.revisionId !== revisionId) return [];
    const isOver = watches.some(({ endedAt }) => endedAt !== null && endedAt <= startedAt);
    if (isOver || hasServed(revisionId, result, later.slice(0, index))) return [];
    return { workflowId, what: `it used the abandoned revision ${revisionId} as its baseline` };
  });
}

function hasServed(revisionId: string, result: ReleaseResult, later: readonly WorkFact[]): boolean {
  const results = [result, ...later.map((work) => work.result)];
  return results.some((ended) => ended?.servingRevisionId === revisionId);
}

function watchesOf(
  { activities }: TargetFacts,
  activity: string,
  field: string,
  value: string,
): readonly ActivityFact[] {
  return named(activities, activity)
    .filter(({ input }) => input[field] === value)
    .sort((one, other) => one.scheduledAt - other.scheduledAt);
}
