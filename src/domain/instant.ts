import type { Instant } from './scalars.ts';

/** A time to the second, as every text shows it: `2026-11-21 13:14:00Z`. `time` in UTC. */
export function exactText(time: Instant): string {
  return time.replace(/T(?<clock>\d\d:\d\d:\d\d)(?:\.\d+)?Z$/u, ' $<clock>Z');
}
