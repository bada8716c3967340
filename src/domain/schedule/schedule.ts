import { canonicalJson } from '@slipway/contract/canonicalJson';

import { formatDuration } from '../duration.ts';
import { instantOf, type LocalTime, localTimeAt, plusDays, weekdayOf } from '../freeze/zonedTime.ts';
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

const DAY_MS = 86_400_000;

/**
 * The times of a schedule between two instants, in milliseconds since 1970, without their jitter.
 *
 * As Temporal has it: a time that clocks skip does not come round, one that they show twice may come round twice; what
 * comes every so often is counted from 1970.
 */
export function scheduleTimes(
  { cron, everyMs, timeZone }: Pick<PromotionSchedule, 'cron' | 'everyMs' | 'timeZone'>,
  from: number,
  to: number,
): readonly number[] {
  const times =
    cron === undefined ? intervalTimes(everyMs ?? 0, from, to) : cronTimes(cron, timeZone, from, to);
  return times.filter((time) => time >= from && time < to);
}

function intervalTimes(everyMs: number, from: number, to: number): number[] {
  if (everyMs <= 0) return [];
  const first = Math.ceil(from / everyMs) * everyMs;
  return Array.from(
    { length: Math.max(Math.ceil((to - first) / everyMs), 0) },
    (_, index) => first + index * everyMs,
  );
}

function cronTimes(cron: string, timeZone: string, from: number, to: number): number[] {
  const read = readCron(cron);
  if (typeof read === 'string') return [];
  const times = new Set<number>();
  const firstDay = plusDays(localTimeAt(from, timeZone), -1);
  for (let day = 0; day <= Math.ceil((to - from) / DAY_MS) + 2; day++) {
    const date = plusDays(firstDay, day);
    if (!read.months.has(date.month) || !read.days.has(date.day) || !read.weekdays.has(weekdayOf(date)))
      continue;
    for (const minute of read.minutes) {
      for (const time of onServer({ ...date, minute }, timeZone)) times.add(time);
    }
  }
  return [...times].sort((one, other) => one - other);
}

/**
 * The instants that the server takes a local time for, as it was seen to (`test/workflows/schedule/cronTimes.test.ts`). One that
 * clocks skip is left out, unless it comes round later in the same hour; one that they show twice is the second where
 * they are ahead of UTC, and both where they are behind.
 */
function onServer(local: LocalTime, timeZone: string): readonly number[] {
  const first = instantOf(local, timeZone, 'first');
  const hour = (minute: number): number => Math.floor(minute / 60);
  if (hour(localTimeAt(first, timeZone).minute) !== hour(local.minute)) return [];
  const isAhead = Date.UTC(local.year, local.month - 1, local.day, 0, local.minute) > first;
  const second = instantOf(local, timeZone, 'second');
  return isAhead ? [second] : [first, second];
}

/** The five fields of a cron expression: what each may hold. */
const FIELDS = [
  { name: 'minute', from: 0, to: 59, words: [] },
  { name: 'hour', from: 0, to: 23, words: [] },
  { name: 'day of month', from: 1, to: 31, words: [] },
  {
    name: 'month',
    from: 1,
    to: 12,
    words: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  },
  { name: 'day of week', from: 0, to: 7, words: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
] as const;

type Field = (typeof FIELDS)[number];

const LONGEST_MONTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * A cron expression, read. A time matches where every field does: unlike in other crons also where both the day of the
 * month and the day of the week are given, since that is how Temporal takes it.
 */
interface Cron {
  /** Minutes since midnight, in order. */
  readonly minutes: readonly number[];
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  /** 0 for Sunday. */
  readonly weekdays: ReadonlySet<number>;
}

/**
 * Reads a cron expression of five fields. Temporal takes more, such as seconds and years; nothing here needs them, and
 * what stands in the file is found wrong before it is sent.
 *
 * @returns what it means, or what is wrong with it.
 */
function readCron(cron: string): Cron | string {
  const parts = cron.trim().split(/\s+/);
  if (parts.length !== FIELDS.length) {
    return `expected five fields (minute, hour, day of month, month, day of week), found ${parts.length}`;
  }
  const values: (readonly number[])[] = [];
  for (const [index, field] of FIELDS.entries()) {
    const part = parts[index] ?? '';
    const read = valuesOf(part, field);
    if (read === undefined) {
      return `"${part}" is no ${field.name}: expected ${field.from} to ${field.to}, a range, a list, or * with a step`;
    }
    values.push(read);
  }
  const [minutes = [], hours = [], days = [], months = [], weekdays = []] = values;
  const exists = months.some((month) => days.some((day) => day <= (LONGEST_MONTHS[month - 1] ?? 31)));
  if (!exists) return 'no such day ever comes round';
  const times = new Set(hours.flatMap((hour) => minutes.map((minute) => hour * 60 + minute)));
  return {
    minutes: [...times].sort((one, other) => one - other),
    days: new Set(days),
    months: new Set(months),
    weekdays: new Set(weekdays.map((weekday) => weekday % 7)),
  };
}

/** What is wrong with a cron expression; `undefined` where nothing is. */
export function cronProblem(cron: string): string | undefined {
  const read = readCron(cron);
  return typeof read === 'string' ? read : undefined;
}

/** The values that a field stands for; `undefined` where it is not right. */
function valuesOf(part: string, field: Field): readonly number[] | undefined {
  const values: number[] = [];
  for (const item of part.split(',')) {
    const found = /^(?<range>[^/]+)(?:\/(?<step>\d{1,2}))?$/.exec(item)?.groups;
    if (found === undefined) return undefined;
    const range = rangeOf(found['range'] ?? '', field, found['step'] !== undefined);
    const step = Number(found['step'] ?? 1);
    if (range === undefined || step < 1) return undefined;
    for (let value = range[0]; value <= range[1]; value += step) values.push(value);
  }
  return values;
}

function rangeOf(text: string, field: Field, stepped: boolean): readonly [number, number] | undefined {
  if (text === '*') return [field.from, field.to];
  const [first = '', last, more] = text.split('-');
  if (more !== undefined) return undefined;
  const from = valueOf(first, field);
  const to = last === undefined ? (stepped ? field.to : from) : valueOf(last, field);
  return from === undefined || to === undefined || to < from ? undefined : [from, to];
}

function valueOf(text: string, { words, from, to }: Field): number | undefined {
  const word = (words as readonly string[]).indexOf(text.toLowerCase());
  const value = word >= 0 ? word + (from === 1 ? 1 : 0) : /^\d{1,2}$/.test(text) ? Number(text) : NaN;
  return value >= from && value <= to ? value : undefined;
}
