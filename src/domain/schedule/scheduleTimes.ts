import { instantOf, type LocalTime, localTimeAt, plusDays, weekdayOf } from '../freeze/zonedTime.ts';
import { readCron } from './cron.ts';
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
