import { fitLine } from './progressLines.ts';

/** A cell: its text and its highlighting. */
export interface Cell {
  readonly text: string;
  readonly paint?: (text: string) => string;
}

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
  paintHeading: (text: string) => string,
): readonly string[] {
  const all = [headings.map((text): Cell => ({ text, paint: paintHeading })), ...rows];
  const last = headings.length - 1;
  const widths = headings.map((_, index) => Math.max(...all.map((row) => row[index]?.text.length ?? 0)));
  const before = widths.slice(0, last).reduce((sum, width) => sum + width + GAP.length, 0);
  const room = Math.max(columns - before, LAST_MIN);
  return all.map((row) =>
    row
      .map(({ text, paint = (plain) => plain }, index) => {
        const shown = index === last ? fitLine(text, room) : text.padEnd(widths[index] ?? 0);
        return paint(shown);
      })
      .join(GAP)
      .trimEnd(),
  );
}
