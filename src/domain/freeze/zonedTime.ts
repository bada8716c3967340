import { DAY_MS, MINUTE_MS } from '../duration.ts';

/** Local time in IANA time zones, from Node's data. Versions of Node may differ, so only activities call this. */

/** A local time in minutes, as milliseconds since 1970 in UTC. The next day is always `DAY_MS` more. */
export type LocalTime = number;

const formats = new Map<string, Intl.DateTimeFormat>();

/** Whether a time zone exists: an IANA name such as `Europe/Berlin` or `UTC`, never an offset. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    formatOf(name);
    return true;
  } catch {
    return false;
  }
}

/** The local time at an instant (milliseconds since 1970). Seconds are cut off. */
export function localTimeAt(instant: number, timeZone: string): LocalTime {
  return Math.floor((instant + offsetAt(instant, timeZone)) / MINUTE_MS) * MINUTE_MS;
}

/**
 * The instant of a local time, in milliseconds since 1970. A time that clocks skip becomes later by the skipped
 * minutes (02:30 becomes 03:30). If a time occurs twice, `twice` chooses.
 */
export function instantOf(local: LocalTime, timeZone: string, twice: 'first' | 'second'): number {
  const before = local - offsetAt(local - DAY_MS, timeZone);
  const after = local - offsetAt(local + DAY_MS, timeZone);
  const shown = [before, after].filter((instant) => instant + offsetAt(instant, timeZone) === local);
  if (shown.length === 0) return before;
  return twice === 'first' ? Math.min(...shown) : Math.max(...shown);
}

/** The first instant at which clocks show a local time or, if they skip it, a later one. */
export function beginningOf(local: LocalTime, timeZone: string): number {
  let instant = instantOf(local, timeZone, 'first');
  while (localTimeAt(instant - MINUTE_MS, timeZone) >= local) instant -= MINUTE_MS;
  return instant;
}

/** An instant for people: `2026-11-21 16:00 (Europe/Berlin)`. */
export function formatInstant(instant: number, timeZone: string): string {
  return `${formatClock(instant, timeZone)} (${timeZone})`;
}

/** The same without the time zone: `2026-11-21 16:00`. */
export function formatClock(instant: number, timeZone: string): string {
  return new Date(localTimeAt(instant, timeZone)).toISOString().slice(0, 16).replace('T', ' ');
}

type Field = 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second';

/** How far a time zone is ahead of UTC, in milliseconds. */
function offsetAt(instant: number, timeZone: string): number {
  const parts = formatOf(timeZone).formatToParts(instant);
  const { year, month, day, hour, minute, second } = Object.fromEntries(
    parts.map(({ type, value }) => [type, Number(value)]),
  ) as Record<Field, number>;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(instant / 1_000) * 1_000;
}

/** @throws RangeError if the time zone does not exist. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const fields = { year: 'numeric', month: 'numeric', day: 'numeric' } as const;
  const times = { hour: 'numeric', minute: 'numeric', second: 'numeric' } as const;
  const options = { timeZone, calendar: 'iso8601', hourCycle: 'h23', ...fields, ...times } as const;
  const format = new Intl.DateTimeFormat('en-US', options);
  formats.set(timeZone, format);
  return format;
}
