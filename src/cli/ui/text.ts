import { DAY_MS, formatDuration } from '../../domain/duration.ts';
import { exactText } from '../../domain/instant.ts';
import { fitLine } from './progressLines.ts';
import type { Style } from './style.ts';

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

/** A cell: its text, or its text and its highlighting. */
export type Cell = string | { readonly text: string; readonly paint: (text: string) => string };

const GAP = '  ';
const LAST_MIN = 12;
/** Narrower columns do not show enough to recognize what is in them. */
const SHRUNK_MIN = 10;

/**
 * Rows below headings, in columns. The last column is cut to the remaining width; if none remains, the widest ones are
 * cut, too.
 * @param columns - the window's width; `Infinity`: nothing is cut.
 */
export function tableLines(
  headings: readonly string[],
  rows: readonly (readonly Cell[])[],
  columns: number,
  style: Style,
): readonly string[] {
  const plain = (text: string): string => text;
  const cells = (row: readonly Cell[], paint = plain) =>
    row.map((cell) => (typeof cell === 'string' ? { text: cell, paint } : cell));
  const all = [cells(headings, style.faint), ...rows.map((row) => cells(row))];
  const last = headings.length - 1;
  const widths = headings.map((_, index) => Math.max(...all.map((row) => row[index]?.text.length ?? 0)));
  const before = () => widths.slice(0, last).reduce((sum, width) => sum + width + GAP.length, 0);
  while (before() > columns - LAST_MIN) {
    const widest = Math.max(...widths.slice(0, last));
    if (widest <= SHRUNK_MIN) break;
    widths[widths.indexOf(widest)] = widest - 1;
  }
  widths[last] = Math.max(columns - before(), LAST_MIN);
  return all.map((row) =>
    row
      .map(({ text, paint }, index) => {
        const width = widths[index] ?? 0;
        const fitted = fitLine(text, width);
        return paint(index === last ? fitted : fitted.padEnd(width));
      })
      .join(GAP)
      .trimEnd(),
  );
}
