import { canonicalJson } from '@slipway/contract/json';

import { DAY_MS, formatDuration } from '../duration.ts';
import { instantOf, type LocalTime, localTimeAt } from '../freeze/zonedTime.ts';
import type { PromotionRequest } from '../promotion/promotion.ts';
import { isRecord, type WholeNumber } from '../scalars.ts';

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
  /** How late a start may still run that was missed while Temporal or all workers were down. */
  readonly catchUpMs: WholeNumber;
}

/** A declared schedule. Temporal keeps it in this form too, so that the two can be compared. */
export interface DeclaredSchedule {
  readonly scheduleId: string;
  readonly request: PromotionRequest;
  readonly schedule: PromotionSchedule;
}

/** The effect of `slipway schedule apply` on one schedule. */
export interface ScheduleChange {
  readonly scheduleId: string;
  readonly name: string;
  /** `undeclared`: Temporal has it, and `slipway.yaml` does not. */
  readonly kind: 'create' | 'update' | 'unchanged' | 'undeclared';
  /** Describes how the two differ. */
  readonly differences: readonly string[];
}

export function scheduleChanges(
  declared: readonly DeclaredSchedule[],
  existing: readonly DeclaredSchedule[],
): readonly ScheduleChange[] {
  const changes = declared.map(({ scheduleId, request, schedule }): ScheduleChange => {
    const found = existing.find((other) => other.scheduleId === scheduleId);
    const differences =
      found === undefined
        ? [describeTimes(schedule)]
        : [...differencesOf(found.schedule, schedule), ...differencesOf(found.request, request)];
    const kind = found === undefined ? 'create' : differences.length === 0 ? 'unchanged' : 'update';
    return { scheduleId, name: request.name, kind, differences };
  });
  const undeclared = existing
    .filter((found) => !declared.some((wanted) => wanted.scheduleId === found.scheduleId))
    .map(({ scheduleId, request: { name } }) => ({ scheduleId, name, differences: [] }));
  return [...changes, ...undeclared.map((found) => ({ ...found, kind: 'undeclared' as const }))];
}

/** When a schedule starts: `every 6h00m`, `0 2 * * * (Europe/Berlin)`. */
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

/**
 * The times of a schedule between two instants, in milliseconds since 1970, without jitter: the same as Temporal's. A
 * local time that clocks skip is left out. One that occurs twice may count twice. Intervals count from 1970.
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
  const firstDay = Math.floor(localTimeAt(from, timeZone) / DAY_MS - 1) * DAY_MS;
  for (let day = firstDay; day <= firstDay + to - from + 3 * DAY_MS; day += DAY_MS) {
    const date = new Date(day);
    const isDay =
      read.months.has(date.getUTCMonth() + 1) &&
      read.days.has(date.getUTCDate()) &&
      read.weekdays.has(date.getUTCDay());
    const minutes = isDay ? read.minutes : [];
    for (const minute of minutes)
      for (const time of onServer(day + minute * 60_000, timeZone)) times.add(time);
  }
  return [...times].sort((one, other) => one - other);
}

/**
 * The instants at which Temporal's server starts for a local time (measured:
 * `test/workflows/schedule/cronTimes.test.ts`). A skipped time has none, unless the shifted time is in the same hour.
 * For a time that occurs twice, it is the second one in zones ahead of UTC, and both in zones behind UTC.
 */
function onServer(local: LocalTime, timeZone: string): readonly number[] {
  const first = instantOf(local, timeZone, 'first');
  const hour = (time: LocalTime): number => new Date(time).getUTCHours();
  if (hour(localTimeAt(first, timeZone)) !== hour(local)) return [];
  const second = instantOf(local, timeZone, 'second');
  return local > first ? [second] : [first, second];
}

interface Field {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly words?: readonly string[];
}

/** The five fields of a cron expression. */
const FIELDS: readonly Field[] = [
  { name: 'minute', from: 0, to: 59 },
  { name: 'hour', from: 0, to: 23 },
  { name: 'day of month', from: 1, to: 31 },
  {
    name: 'month',
    from: 1,
    to: 12,
    words: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  },
  { name: 'day of week', from: 0, to: 7, words: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
];

const LONGEST_MONTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * Parses a cron expression with five fields; a text says what is wrong with it. A time matches if all fields match.
 * Unlike other crons, Temporal also combines day of month and day of week with "and". `minutes`: since midnight.
 */
function readCron(cron: string) {
  const parts = cron.trim().split(/\s+/);
  if (parts.length !== FIELDS.length) {
    return `expected five fields (minute, hour, day of month, month, day of week), found ${parts.length}`;
  }
  const values: number[][] = [];
  for (const [index, field] of FIELDS.entries()) {
    const part = parts[index] ?? '';
    const read = part.split(',').map((item) => valuesOf(item, field));
    if (read.includes(undefined)) {
      return `"${part}" is no ${field.name}: expected ${field.from} to ${field.to}, a range, a list, or * with a step`;
    }
    values.push(read.flatMap((some) => some ?? []));
  }
  const [minutes = [], hours = [], days = [], months = [], weekdays = []] = values;
  const exists = months.some((month) => days.some((day) => day <= (LONGEST_MONTHS[month - 1] ?? 31)));
  if (!exists) return 'no month has such a day';
  return {
    minutes: hours.flatMap((hour) => minutes.map((minute) => hour * 60 + minute)),
    days: new Set(days),
    months: new Set(months),
    weekdays: new Set(weekdays.map((weekday) => weekday % 7)),
  };
}

/** What is wrong with a cron expression; `undefined` if nothing. */
export function cronProblem(cron: string): string | undefined {
  const read = readCron(cron);
  return typeof read === 'string' ? read : undefined;
}

/** The values of `*`, `5` or `5-9`, optionally with a step (`/2`); `undefined` for any other text. */
function valuesOf(item: string, field: Field): readonly number[] | undefined {
  const [, range = '', stepText] = /^([^/]+)(?:\/(\d{1,2}))?$/.exec(item) ?? [];
  const [first = '', last, more] = range === '*' ? [`${field.from}`, `${field.to}`] : range.split('-');
  const from = valueOf(first, field);
  const to = last === undefined ? (stepText === undefined ? from : field.to) : valueOf(last, field);
  const step = Number(stepText ?? 1);
  if (from === undefined || to === undefined || to < from || more !== undefined || step < 1) return undefined;
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step);
}

function valueOf(text: string, { words = [], from, to }: Field): number | undefined {
  const word = words.indexOf(text.toLowerCase());
  const value = word >= 0 ? word + from : /^\d{1,2}$/.test(text) ? Number(text) : NaN;
  return value >= from && value <= to ? value : undefined;
}
