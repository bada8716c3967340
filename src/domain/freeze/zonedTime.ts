/**
 * Local time in IANA time zones, from the time zone data that Node brings along.
 *
 * That data changes from release to release: two workers may disagree about a rule that a country has changed. So no
 * workflow calls this; an activity does, and what it found stays in the history.
 */

/** A time as a clock on the wall shows it. */
export interface LocalTime {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
  /** Minutes since midnight. */
  readonly minute: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const formats = new Map<string, Intl.DateTimeFormat>();

/** Whether there is such a time zone: an IANA name such as `Europe/Berlin` or `UTC`, never an offset. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    formatOf(name);
    return true;
  } catch {
    return false;
  }
}

/** What the clocks of a time zone show at an instant, in milliseconds since 1970. Seconds are cut off. */
export function localTimeAt(instant: number, timeZone: string): LocalTime {
  const local = new Date(instant + offsetAt(instant, timeZone));
  return {
    year: local.getUTCFullYear(),
    month: local.getUTCMonth() + 1,
    day: local.getUTCDate(),
    minute: local.getUTCHours() * 60 + local.getUTCMinutes(),
  };
}

/**
 * The instant at which the clocks of a time zone show a time, in milliseconds since 1970.
 *
 * Decision: a time that is left out when clocks go forward is taken as many minutes later as they skip (02:30 becomes
 * 03:30), and of a time that comes twice `twice` says which is meant: as the date library of JavaScript has it.
 */
export function instantOf(local: LocalTime, timeZone: string, twice: 'first' | 'second'): number {
  const asUtc = utcOf(local);
  const before = asUtc - offsetAt(asUtc - DAY_MS, timeZone);
  const after = asUtc - offsetAt(asUtc + DAY_MS, timeZone);
  const shown = [before, after].filter((instant) => instant + offsetAt(instant, timeZone) === asUtc);
  if (shown.length === 0) return before;
  return twice === 'first' ? Math.min(...shown) : Math.max(...shown);
}

/** A local time so many days later, or earlier where negative. */
export function plusDays(local: LocalTime, days: number): LocalTime {
  const moved = new Date(utcOf({ ...local, minute: 0 }) + days * DAY_MS);
  return {
    year: moved.getUTCFullYear(),
    month: moved.getUTCMonth() + 1,
    day: moved.getUTCDate(),
    minute: local.minute,
  };
}

/** The day of the week: 0 for Sunday. */
export function weekdayOf(local: LocalTime): number {
  return new Date(utcOf(local)).getUTCDay();
}

/** An instant as people of a time zone write it: `2026-11-21 16:00 (Europe/Berlin)`. */
export function formatInstant(instant: number, timeZone: string): string {
  return `${formatClock(instant, timeZone)} (${timeZone})`;
}

/** The same, where the time zone is told elsewhere: `2026-11-21 16:00`. */
export function formatClock(instant: number, timeZone: string): string {
  const { year, month, day, minute } = localTimeAt(instant, timeZone);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${year}-${two(month)}-${two(day)} ${two(Math.floor(minute / 60))}:${two(minute % 60)}`;
}

function utcOf({ year, month, day, minute }: LocalTime): number {
  return Date.UTC(year, month - 1, day) + minute * MINUTE_MS;
}

/** How far the clocks of a time zone are ahead of UTC, in milliseconds. */
function offsetAt(instant: number, timeZone: string): number {
  const fields = new Map(
    formatOf(timeZone)
      .formatToParts(instant)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const field = (type: Intl.DateTimeFormatPartTypes): number => fields.get(type) ?? 0;
  const shown = Date.UTC(
    field('year'),
    field('month') - 1,
    field('day'),
    field('hour'),
    field('minute'),
    field('second'),
  );
  return shown - Math.floor(instant / 1_000) * 1_000;
}

/** @throws RangeError for a time zone that does not exist. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'iso8601',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  formats.set(timeZone, format);
  return format;
}
