import { canonicalJson } from '@slipway/contract/canonicalJson';

import { formatDuration } from '../duration.ts';
import type { PromotionRequest } from '../promotion/promotion.ts';
import type { WholeNumber } from '../scalars.ts';

/** When Temporal starts a promotion. */
export interface PromotionSchedule {
  /** Either this or `everyMs`. */
  readonly cron?: string;
  readonly everyMs?: WholeNumber;
  readonly timeZone: string;
  /** The longest random delay of each start. */
  readonly jitterMs: WholeNumber;
  /** What happens at a start if the promotion of an earlier start still runs. */
  readonly overlap: 'skip' | 'buffer_one';
  /** How late Temporal still makes up for a start that it missed while it was down. */
  readonly catchUpMs: WholeNumber;
}

/** A schedule as it is declared: also what Temporal keeps of it, so that the two can be compared. */
export interface DeclaredSchedule {
  readonly scheduleId: string;
  readonly request: PromotionRequest;
  readonly schedule: PromotionSchedule;
}

/** What applying does to one schedule. */
export interface ScheduleChange {
  readonly scheduleId: string;
  readonly name: string;
  /** `undeclared`: Temporal has it, and `slipway.yaml` does not. */
  readonly kind: 'create' | 'update' | 'unchanged' | 'undeclared';
  /** How the two differ, in words. */
  readonly differences: readonly string[];
}

/** Compares what is declared with what there is. */
export function scheduleChanges(
  declared: readonly DeclaredSchedule[],
  existing: readonly DeclaredSchedule[],
): readonly ScheduleChange[] {
  const changes = declared.map((wanted): ScheduleChange => {
    const { scheduleId, request } = wanted;
    const found = existing.find((other) => other.scheduleId === scheduleId);
    if (found === undefined) {
      return {
        scheduleId,
        name: request.name,
        kind: 'create',
        differences: [describeTimes(wanted.schedule)],
      };
    }
    const differences = [
      ...fieldDifferences('', found.schedule, wanted.schedule),
      ...fieldDifferences('', found.request, wanted.request),
    ];
    const kind = differences.length === 0 ? 'unchanged' : 'update';
    return { scheduleId, name: request.name, kind, differences };
  });
  const undeclared = existing
    .filter((found) => !declared.some((wanted) => wanted.scheduleId === found.scheduleId))
    .map(({ scheduleId, request }): ScheduleChange => ({
      scheduleId,
      name: request.name,
      kind: 'undeclared',
      differences: [],
    }));
  return [...changes, ...undeclared];
}

/** When a schedule's times come round, in words. */
export function describeTimes({ cron, everyMs, timeZone }: PromotionSchedule): string {
  return cron === undefined ? `every ${formatDuration(everyMs ?? 0)}` : `${cron} (${timeZone})`;
}

function fieldDifferences(prefix: string, found: object, wanted: object): string[] {
  const [before, after] = [found as Fields, wanted as Fields];
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) => {
    const [one, other] = [before[key], after[key]];
    if (canonicalJson(one ?? null) === canonicalJson(other ?? null)) return [];
    if (isRecord(one) && isRecord(other)) return fieldDifferences(`${prefix}${key}.`, one, other);
    return [`${prefix}${key}: ${canonicalJson(one ?? null)} → ${canonicalJson(other ?? null)}`];
  });
}

type Fields = Readonly<Record<string, unknown>>;

function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
