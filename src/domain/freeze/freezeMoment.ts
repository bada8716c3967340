import type { LocalTime } from './zonedTime.ts';

/** When a freeze begins or ends: once, each week, or each day. */
export type FreezeMoment =
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
