import { instantOf, type LocalTime, localTimeAt, plusDays, weekdayOf } from './zonedTime.ts';

/** A time in which a target takes no release: once, each week, or each day. A rollback always passes. */
export interface FreezeWindow {
  /** What it is called, for people. */
  readonly name: string;
  /** An IANA time zone: `Europe/Berlin`. */
  readonly timeZone: string;
  /** `2026-12-23 18:00`, `Fri 16:00`, or `22:00` for every day. */
  readonly from: string;
  /** Of the same kind as `from`. This minute is free again. */
  readonly until: string;
  /** `wait`: what would be released waits until it ends. `refuse`: it ends, with nothing changed. */
  readonly then: 'wait' | 'refuse';
}

/** A freeze at one instant. */
export interface Frozen {
  readonly name: string;
  readonly timeZone: string;
  readonly then: FreezeWindow['then'];
  /** When nothing is frozen any more, other freezes that follow at once included: milliseconds since 1970. */
  readonly until: number;
}

/** One time that a freeze is in force: milliseconds since 1970, `until` not included. */
export interface FreezeSpan {
  readonly from: number;
  readonly until: number;
}

const DAY_MS = 86_400_000;
/** A freeze that is in force has begun at most so many days ago. */
const LONGEST_DAYS = { weekly: 8, daily: 2 } as const;
/** Freezes that follow each other without a gap for longer than this are told as if they ended then. */
const LONGEST_MS = 100 * DAY_MS;

/**
 * The freeze that is in force at an instant; `null` where none is. Of several the one that refuses is told, else the
 * one that lasts longest.
 *
 * @throws RangeError for a time zone that does not exist.
 */
export function frozenAt(windows: readonly FreezeWindow[], at: number): Frozen | null {
  const inForce = windows
    .flatMap((window) => freezeSpans(window, at, at + 1).map((span) => ({ window, span })))
    .sort((one, other) => other.span.until - one.span.until);
  const decisive = inForce.find(({ window }) => window.then === 'refuse') ?? inForce[0];
  if (decisive === undefined) return null;
  const { name, timeZone, then } = decisive.window;
  return { name, timeZone, then, until: thawAfter(windows, at) };
}

/** Every time between two instants that a freeze is in force, whole also where it begins before or ends after. */
export function freezeSpans(window: FreezeWindow, from: number, to: number): readonly FreezeSpan[] {
  const begins = parseFreezeMoment(window.from);
  const ends = parseFreezeMoment(window.until);
  if (begins === undefined || ends === undefined) return [];
  return occurrences(begins, ends, window.timeZone, from, to).filter(
    (span) => span.until > span.from && span.until > from && span.from < to,
  );
}

function thawAfter(windows: readonly FreezeWindow[], at: number): number {
  for (let thaw = at; ;) {
    const ends = windows.flatMap((window) => freezeSpans(window, thaw, thaw + 1)).map((span) => span.until);
    if (ends.length === 0 || thaw - at > LONGEST_MS) return thaw;
    thaw = Math.max(...ends);
  }
}

/**
 * Decision: where clocks go back, a freeze begins at the first and ends at the second of two equal times: rather an
 * hour too long than one too short.
 */
function occurrences(
  begins: FreezeMoment,
  ends: FreezeMoment,
  timeZone: string,
  from: number,
  to: number,
): readonly FreezeSpan[] {
  const span = (first: LocalTime, last: LocalTime): FreezeSpan => ({
    from: instantOf(first, timeZone, 'first'),
    until: instantOf(last, timeZone, 'second'),
  });
  if (begins.kind === 'once') return ends.kind === 'once' ? [span(begins.at, ends.at)] : [];
  if (ends.kind === 'once') return [];
  const spans: FreezeSpan[] = [];
  const before = LONGEST_DAYS[begins.kind];
  const days = Math.ceil((to - from) / DAY_MS) + before + 1;
  const firstDay = plusDays(localTimeAt(from, timeZone), -before);
  for (let day = 0; day <= days; day++) {
    const first = { ...plusDays(firstDay, day), minute: begins.minute };
    if (begins.kind === 'weekly' && weekdayOf(first) !== begins.weekday) continue;
    spans.push(span(first, { ...plusDays(first, daysUntil(begins, ends)), minute: ends.minute }));
  }
  return spans;
}

type Recurring = Exclude<FreezeMoment, { kind: 'once' }>;

function daysUntil(begins: Recurring, ends: Recurring): number {
  const isLater = ends.minute > begins.minute;
  if (begins.kind === 'daily' || ends.kind === 'daily') return isLater ? 0 : 1;
  const days = (ends.weekday - begins.weekday + 7) % 7;
  return days === 0 && !isLater ? 7 : days;
}

/** When a freeze begins or ends: once, each week, or each day. */
type FreezeMoment =
  | { readonly kind: 'once'; readonly at: LocalTime }
  | {
      readonly kind: 'weekly';
      /** 0 for Sunday. */
      readonly weekday: number;
      /** Minutes since midnight. */
      readonly minute: number;
    }
  | { readonly kind: 'daily'; readonly minute: number };

const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const MOMENT =
  /^(?:(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})|(?<weekday>sun(?:day)?|mon(?:day)?|tue(?:sday)?|wed(?:nesday)?|thu(?:rsday)?|fri(?:day)?|sat(?:urday)?))?\s*(?:(?<hour>\d{2}):(?<minute>\d{2}))?$/i;

/**
 * Reads a moment as people write it: `2026-12-23 18:00` (a date alone is its midnight), `Fri 16:00`, `22:00`.
 *
 * @returns `undefined` for what is none, and for days and times that do not exist.
 */
export function parseFreezeMoment(text: string): FreezeMoment | undefined {
  const groups = MOMENT.exec(text.trim())?.groups;
  if (groups === undefined) return undefined;
  const { year, weekday, hour, minute: minutes } = groups as Readonly<Record<string, string | undefined>>;
  const minute = Number(hour ?? 0) * 60 + Number(minutes ?? 0);
  if (Number(hour ?? 0) > 23 || Number(minutes ?? 0) > 59) return undefined;
  if (year !== undefined) return onceAt(groups, minute);
  if (hour === undefined) return undefined;
  if (weekday === undefined) return { kind: 'daily', minute };
  return { kind: 'weekly', weekday: WEEKDAYS.indexOf(weekday.slice(0, 3).toLowerCase()), minute };
}

function onceAt(groups: Readonly<Record<string, string>>, minute: number): FreezeMoment | undefined {
  const at = {
    year: Number(groups['year']),
    month: Number(groups['month']),
    day: Number(groups['day']),
    minute,
  };
  const day = new Date(Date.UTC(at.year, at.month - 1, at.day));
  const exists = day.getUTCMonth() + 1 === at.month && day.getUTCDate() === at.day;
  return exists ? { kind: 'once', at } : undefined;
}

/**
 * What is wrong with a freeze's beginning and end; `null` where nothing is. Knows nothing of time zones, so that a
 * workflow may ask.
 */
export function freezeProblem({ from, until }: Pick<FreezeWindow, 'from' | 'until'>): {
  readonly field: 'from' | 'until';
  readonly message: string;
} | null {
  const begins = parseFreezeMoment(from);
  const ends = parseFreezeMoment(until);
  const expected = 'expected a moment such as "2026-12-23 18:00", "Fri 16:00" or "22:00"';
  if (begins === undefined) return { field: 'from', message: expected };
  if (ends === undefined) return { field: 'until', message: expected };
  if (begins.kind !== ends.kind) {
    return { field: 'until', message: `expected a moment of the same kind as from: "${from}"` };
  }
  if (begins.kind === 'once' && ends.kind === 'once' && compare(begins.at, ends.at) >= 0) {
    return { field: 'until', message: 'expected a moment after from' };
  }
  return null;
}

function compare(one: LocalTime, other: LocalTime): number {
  return one.year - other.year || one.month - other.month || one.day - other.day || one.minute - other.minute;
}
