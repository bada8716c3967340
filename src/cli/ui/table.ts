import { fitLine } from './progressLines.ts';
import type { Style } from './style.ts';

/** A cell: its text, or its text and its highlighting. */
export type Cell = string | { readonly text: string; readonly paint: (text: string) => string };

const GAP = '  ';
const LAST_MIN = 12;

/**
 * Rows below headings, in columns. The last column is cut to the remaining width.
 *
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
  const before = widths.slice(0, last).reduce((sum, width) => sum + width + GAP.length, 0);
  const room = Math.max(columns - before, LAST_MIN);
  return all.map((row) =>
    row
      .map(({ text, paint }, index) =>
        paint(index === last ? fitLine(text, room) : text.padEnd(widths[index] ?? 0)),
      )
      .join(GAP)
      .trimEnd(),
  );
}
