import type { FreezeWindow } from './freeze.ts';
import { parseFreezeMoment } from './freezeMoment.ts';
import type { LocalTime } from './zonedTime.ts';

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
