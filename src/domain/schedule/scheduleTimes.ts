import { instantOf, type LocalTime, localTimeAt, plusDays, weekdayOf } from '../freeze/zonedTime.ts';
import type { PromotionSchedule } from './schedule.ts';

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
