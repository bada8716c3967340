import { beginningOf, instantOf, type LocalTime, localTimeAt } from './zonedTime.ts';
import { DAY_MS } from '../duration.ts';

/** A time in which a target accepts no release: once, weekly or daily. A rollback always passes. */
export interface FreezeWindow {
  /** Its name, for people. */
  readonly name: string;
  /** An IANA time zone: `Europe/Berlin`. */
  readonly timeZone: string;
  /** `2026-12-23 18:00`, `Fri 16:00`, or `22:00` for every day. */
  readonly from: string;
  /** In the same form as `from`. This minute is no longer frozen. */
  readonly until: string;
  /** `wait`: a release waits until the freeze ends. `refuse`: the release ends without a change. */
  readonly then: 'wait' | 'refuse';
}

/** The freeze in force at an instant. */
export interface Frozen {
  readonly name: string;
  readonly timeZone: string;
  readonly then: FreezeWindow['then'];
  /** When no freeze is in force any longer, including freezes that follow at once: milliseconds since 1970. */
  readonly until: number;
}

/** One period in which a freeze is in force: milliseconds since 1970, `until` excluded. */
export interface FreezeSpan {
  readonly from: number;
  readonly until: number;
}

const PERIOD_MS = { weekly: 7 * DAY_MS, daily: DAY_MS } as const;
/** If freezes follow each other without a gap for longer than this, they are reported as ending then. */
const LONGEST_MS = 100 * DAY_MS;

/**
 * The freeze in force at an instant. If there are several: one that refuses, else the one that lasts longest.
 * @throws RangeError if a time zone does not exist.
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

/** When the next freeze begins if none is in force at an instant: at most a day later. Milliseconds since 1970. */
export function nextFreeze(windows: readonly FreezeWindow[], at: number): number {
  const spans = windows.flatMap((window) => freezeSpans(window, at, at + DAY_MS));
  return Math.min(at + DAY_MS, ...spans.map(({ from }) => from));
}

/**
 * All periods between two instants in which a freeze without a {@link freezeProblem} is in force. They are not cut at
 * these instants.
 */
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

/** When clocks go back, a freeze begins at the first of two equal times, and ends at the second. */
function occurrences(
  begins: FreezeMoment,
  ends: FreezeMoment,
  timeZone: string,
  from: number,
  to: number,
): readonly FreezeSpan[] {
  const span = (first: LocalTime, last: LocalTime): FreezeSpan => ({
    from: beginningOf(first, timeZone),
    until: instantOf(last, timeZone, 'second'),
  });
  if (begins.kind === 'once') return [span(begins.at, ends.at)];
  const period = PERIOD_MS[begins.kind];
  const difference = (ends.at - begins.at) % period;
  const lasts = difference > 0 ? difference : difference + period;
  // One more on each side, because clocks may be changed.
  const first = Math.floor((localTimeAt(from, timeZone) - begins.at) / period) - 2;
  const count = Math.ceil((to - from) / period) + 4;
  return Array.from({ length: count }, (_, number) => {
    const start = begins.at + (first + number) * period;
    return span(start, start + lasts);
  });
}

/** When a freeze begins or ends. `at`: if it recurs, the first time since 1970. */
interface FreezeMoment {
  readonly kind: 'once' | keyof typeof PERIOD_MS;
  readonly at: LocalTime;
}

/** In the order of January 1970. */
const WEEKDAYS = ['thu', 'fri', 'sat', 'sun', 'mon', 'tue', 'wed'];
const MOMENT =
  /^(?:(?<date>\d{4}-\d{2}-\d{2})|(?<weekday>sun(?:day)?|mon(?:day)?|tue(?:sday)?|wed(?:nesday)?|thu(?:rsday)?|fri(?:day)?|sat(?:urday)?))?\s*(?:(?<hour>\d{2}):(?<minute>\d{2}))?$/i;

/** Reads a moment: `2026-12-23 18:00` (without a time: midnight), `Fri 16:00`, `22:00`; `undefined`: invalid. */
export function parseFreezeMoment(text: string): FreezeMoment | undefined {
  const groups: Readonly<Record<string, string | undefined>> | undefined = MOMENT.exec(text.trim())?.groups;
  if (groups === undefined) return undefined;
  const { date, weekday, hour, minute } = groups;
  if (Number(hour ?? 0) > 23 || Number(minute ?? 0) > 59) return undefined;
  const ms = (Number(hour ?? 0) * 60 + Number(minute ?? 0)) * 60_000;
  if (date !== undefined) {
    const midnight = Date.parse(date);
    const exists = !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(date);
    return exists ? { kind: 'once', at: midnight + ms } : undefined;
  }
  if (hour === undefined) return undefined;
  if (weekday === undefined) return { kind: 'daily', at: ms };
  return { kind: 'weekly', at: WEEKDAYS.indexOf(weekday.slice(0, 3).toLowerCase()) * DAY_MS + ms };
}

/** What is wrong with a freeze's start and end; `undefined` if nothing. Uses no time zone, for workflows. */
export function freezeProblem({
  from,
  until,
}: Pick<FreezeWindow, 'from' | 'until'>): { readonly field: string; readonly message: string } | undefined {
  const begins = parseFreezeMoment(from);
  const ends = parseFreezeMoment(until);
  const expected = 'expected a moment such as "2026-12-23 18:00", "Fri 16:00" or "22:00"';
  if (begins === undefined) return { field: 'from', message: expected };
  if (ends === undefined) return { field: 'until', message: expected };
  if (begins.kind !== ends.kind) {
    return { field: 'until', message: `expected a moment of the same kind as from: "${from}"` };
  }
  if (begins.kind === 'once' && begins.at >= ends.at) {
    return { field: 'until', message: 'expected a moment after from' };
  }
  return undefined;
}
