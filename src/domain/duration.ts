const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
export const MINUTE_MS = UNITS.m;
export const HOUR_MS = UNITS.h;
export const DAY_MS = UNITS.d;
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/gy;

/** The longest accepted duration: 30 days. A longer one is a typo. */
export const DURATION_MAX_MS = 30 * UNITS.d;
/** The longest accepted age: 10 years. */
export const AGE_MAX_MS = 3_650 * UNITS.d;

/**
 * Reads a duration: `30s`, `5m`, `1h30m`, `250ms`, `0.5s`.
 * @returns whole milliseconds; `undefined` if it is invalid or longer than `maxMs`.
 */
export function parseDuration(text: string, maxMs: number = DURATION_MAX_MS): number | undefined {
  const compact = text.trim();
  if (compact === '0') return 0;
  PART.lastIndex = 0;
  let milliseconds = 0;
  let end = 0;
  for (let part = PART.exec(compact); part !== null; part = PART.exec(compact)) {
    milliseconds += Number(part[1]) * UNITS[part[2] as keyof typeof UNITS];
    end = PART.lastIndex;
  }
  if (compact === '' || end !== compact.length) return undefined;
  const whole = Math.round(milliseconds);
  return whole <= maxMs ? whole : undefined;
}

/** Formats a duration: `850ms`, `4.2s`, `2m05s`, `1h02m`. A negative one, between two clocks, is `0ms`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.max(Math.round(milliseconds), 0)}ms`;
  if (milliseconds < 59_950) return `${(milliseconds / 1_000).toFixed(1)}s`;
  const seconds = Math.round(milliseconds / 1_000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m${pad(seconds % 60)}s`;
  return `${Math.floor(minutes / 60)}h${pad(minutes % 60)}m`;
}

/** How long something took. */
export function tookText(it: { readonly startedAt: string; readonly endedAt: string }): string {
  return formatDuration(Date.parse(it.endedAt) - Date.parse(it.startedAt));
}

function pad(value: number): string {
  return String(value).padStart(2, '0');
}
