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
    const own = (what: string): Breach => ({ workflowId, what });
    return [
      ...result.givenUpRevisionIds.flatMap((revisionId) => [
        ...missed(target, result, later, revisionId).map(own),
        ...tookForBaseline(target, result, later, revisionId),
      ]),
      ...missedUpload(target, result, later).map(own),
    ];
  });

function missed(
  target: TargetFacts,
  result: ReleaseResult,
  later: readonly WorkFact[],
  revisionId: string,
): string[] {
  const watches = watchesOf(target, 'awaitLateSuccess', 'revisionId', revisionId);
  const restored = [result, ...resultsOf(later)].some((one) => one.servingRevisionId === revisionId);
  const what = `revision ${revisionId} was abandoned`;
  const unsettled = restored || !hasTimeFor(target, later);
  return [
    ...(unsettled ? [] : [...forgotten(watches, what), ...notCountered(watches, later, what)]),
    ...leftAlone(watches, later, what),
  ];
}

function missedUpload(target: TargetFacts, result: ReleaseResult, later: readonly WorkFact[]): string[] {
  const path = result.unansweredUpload;
  if (path === undefined || [result, ...resultsOf(later)].some(losesTrack)) return [];
  const watches = watchesOf(target, 'awaitLateUpload', 'objectPath', path);
  const what = `a PATCH of ${path} went unanswered`;
  return [...(hasTimeFor(target, later) ? forgotten(watches, what) : []), ...leftAlone(watches, later, what)];
}

/** Whether it has done all its work, and no release is still open. */
function hasTimeFor({ idle }: TargetFacts, later: readonly WorkFact[]): boolean {
  return idle && later.every(({ endedAt }) => endedAt !== null);
}

function forgotten(watches: readonly ActivityFact[], what: string): string[] {
  const last = watches.at(-1);
  if (last === undefined) return [`${what}, and the target does not watch it`];
  const isLook =
    last.outcome !== 'timed_out' && last.outcome !== 'canceled' && last.abandonedAt === undefined;
  return isLook ? [] : [`${what}, and the target forgot it without a last look`];
}

function notCountered(watches: readonly ActivityFact[], later: readonly WorkFact[], what: string): string[] {
  const last = watches.at(-1);
  if (last?.result?.['cameUp'] !== true) return [];
  const { endedAt: seenAt } = last;
  const isCountered = later.some(({ endedAt }) => seenAt !== null && endedAt !== null && endedAt > seenAt);
  return isCountered ? [] : [`${what}, became active, and was not countered`];
}

/** Watches that ended because other work runs. */
function leftAlone(watches: readonly ActivityFact[], later: readonly WorkFact[], what: string): string[] {
  return watches.flatMap(({ abandonedAt = Infinity }) => {
    const work = later.find(({ endedAt }) => (endedAt ?? Infinity) > abandonedAt);
    const isResumed = watches.some(
      ({ scheduledAt }) => scheduledAt >= abandonedAt && scheduledAt < (work?.endedAt ?? Infinity),
    );
    if (work === undefined || isResumed) return [];
    return `${what}, and the target did not watch it while ${work.workflowId} ran`;
  });
}

/** A release whose failure restores a late revision, unless that served on purpose since, or was dropped. */
function tookForBaseline(
  target: TargetFacts,
  result: ReleaseResult,
  later: readonly WorkFact[],
  revisionId: string,
): Breach[] {
  const watches = watchesOf(target, 'awaitLateSuccess', 'revisionId', revisionId);
  return later.flatMap(({ workflowId, startedAt, result: own }, index) => {
    const before = [result, ...resultsOf(later.slice(0, index))];
    const served = before.some(({ servingRevisionId }) => servingRevisionId === revisionId);
    const ended = watches.some(({ endedAt }) => endedAt !== null && endedAt <= startedAt);
    if (own?.baseline?.revisionId !== revisionId || served || ended) return [];
    const what = `it used the abandoned revision ${revisionId} as its baseline`;
    return { workflowId, what };
  });
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

function resultsOf(works: readonly WorkFact[]): readonly ReleaseResult[] {
  return works.flatMap(({ result }) => result ?? []);
}
