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
      const differences = [describeTimes(wanted.schedule)];
      return { scheduleId, name: request.name, kind: 'create', differences };
    }
    const differences = [
      ...differencesOf(found.schedule, wanted.schedule),
      ...differencesOf(found.request, wanted.request),
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

/** When a schedule starts, in words: `every 6h00m`, `0 2 * * * (Europe/Berlin)`. */
export function describeTimes({ cron, everyMs, timeZone }: PromotionSchedule): string {
  return cron === undefined ? `every ${formatDuration(everyMs ?? 0)}` : `${cron} (${timeZone})`;
}

function differencesOf(found: object, wanted: object, prefix = ''): string[] {
  const [before, after] = [found as Fields, wanted as Fields];
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) => {
    const [one, other] = [before[key] ?? null, after[key] ?? null];
    if (canonicalJson(one) === canonicalJson(other)) return [];
    if (isRecord(one) && isRecord(other)) return differencesOf(one, other, `${prefix}${key}.`);
    return [`${prefix}${key}: ${canonicalJson(one)} → ${canonicalJson(other)}`];
  });
}

type Fields = Readonly<Record<string, unknown>>;

function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const DAY_MS = 86_400_000;

/**
 * The times of a schedule between two instants, in milliseconds since 1970, without their jitter: the same as Temporal's.
 * A local time that clocks skip is left out, one that they show twice may count twice, and intervals count from 1970.
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
 * The instants at which Temporal's server starts for a local time (measured: `test/workflows/schedule/cronTimes.test.ts`).
 * A time that clocks skip has none, unless the shifted time falls into the same hour. For a time that they show twice it
 * is the second one in zones ahead of UTC, and both in zones behind it.
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
 * A parsed cron expression. A time matches if every field does. Unlike other crons, Temporal also combines the day of the
 * month and the day of the week with "and".
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
 * Parses a cron expression of five fields. Temporal would accept more, such as seconds and years; nothing here needs them.
 *
 * @returns the expression, or what is wrong with it.
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
  if (!exists) return 'no month has such a day';
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
