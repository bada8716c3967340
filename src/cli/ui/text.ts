import { DAY_MS, formatDuration } from '../../domain/duration.ts';
import { exactText } from '../../domain/instant.ts';

export function agoText(time: string, now: number): string {
  const elapsed = Math.max(now - Date.parse(time), 0);
  if (elapsed < 2 * DAY_MS) return `${formatDuration(elapsed)} ago`;
  return `${Math.floor(elapsed / DAY_MS)} days ago`;
}

/** Relative and exact time: `2h05m ago (2026-11-21 13:14:00Z)`. */
export function timeText(time: string, now: number): string {
  return `${agoText(time, now)} (${exactText(time)})`;
}

/** A counted noun: `no warnings`, `1 warning`, `2 warnings`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count === 0 ? 'no' : count} ${count === 1 ? one : many}`;
}

export function sizeText(bytes: number): string {
  return bytes < 1_048_576 ? `${Math.ceil(bytes / 1_024)} KB` : `${(bytes / 1_048_576).toFixed(1)} MB`;
}
