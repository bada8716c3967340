import { randomInt } from 'node:crypto';
import { stripVTControlCharacters } from 'node:util';

import { DAY_MS, formatDuration } from '../../domain/duration.ts';
import { exactText } from '../../domain/scalars.ts';

/**
 * Marks Slipway's own color codes until they are printed: a text from outside cannot contain it. Extra parameters of the code,
 * so that functions that remove codes know it; of four digits, because Node's does not know longer ones.
 */
export const OWN = Array.from({ length: 4 }, () => randomInt(1_000, 10_000)).join(';');

export type Style = ReturnType<typeof styleOf>;

export function styleOf(colored: boolean) {
  const paint =
    (open: number, close: number) =>
    (text: string): string =>
      colored ? `\u001b[${OWN};${open}m${text}\u001b[${OWN};${close}m` : text;
  const [good, bad] = [paint(32, 39), paint(31, 39)];
  return {
    good,
    bad,
    warn: paint(33, 39),
    strong: paint(1, 22),
    faint: paint(2, 22),
    /** The mark of what ended well or badly. */
    mark: (isGood: boolean): string => (isGood ? good(MARKS.done) : bad(MARKS.failed)),
  };
}

/** The terminal that lines are made for. */
export interface Screen {
  readonly style: Style;
  /** The width in characters, to which lines are cut. `Infinity`: not at all. */
  readonly columns: number;
  /** Ages, and durations of what still runs, count up to this time. Milliseconds since 1970. */
  readonly now: number;
}

export const MARKS = { done: '✔', failed: '✖', running: '…', skipped: '-', warning: '!' } as const;

export function agoText(time: string, now: number): string {
  const elapsed = now - Date.parse(time);
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

const NAMED = 5;

/** The first five of several names, and how many more there are. */
export function firstOf(names: readonly string[]): string {
  const more = names.length - NAMED;
  return names.slice(0, NAMED).join(', ') + (more > 0 ? `, and ${more} more` : '');
}

export function sizeText(bytes: number): string {
  return bytes < 1_048_576 ? `${Math.ceil(bytes / 1_024)} KB` : `${(bytes / 1_048_576).toFixed(1)} MB`;
}

export type Cell = string | { readonly text: string; readonly paint: (text: string) => string };

const GAP = '  ';
const LAST_MIN = 12;
/** Narrower columns do not show enough to recognize what is in them. */
const SHRUNK_MIN = 10;

/**
 * Rows below headings, in columns. The last column is cut to the remaining width; if none remains, the widest ones are
 * cut, too.
 */
export function tableLines(
  headings: readonly string[],
  rows: readonly (readonly Cell[])[],
  { columns, style }: Pick<Screen, 'columns' | 'style'>,
): readonly string[] {
  const plain = (text: string): string => text;
  const cells = (row: readonly Cell[], paint = plain) =>
    row.map((cell) => (typeof cell === 'string' ? { text: cell, paint } : cell));
  const all = [cells(headings, style.faint), ...rows.map((row) => cells(row))];
  const last = headings.length - 1;
  const widths = headings.map((_, index) => Math.max(...all.map((row) => widthOf(row[index]?.text ?? ''))));
  const before = () => widths.slice(0, last).reduce((sum, width) => sum + width + GAP.length, 0);
  while (before() > columns - LAST_MIN) {
    const widest = Math.max(...widths.slice(0, last));
    if (widest <= SHRUNK_MIN) break;
    widths[widths.indexOf(widest)] = widest - 1;
  }
  widths[last] = Math.max(columns - before(), 1);
  return all.map((row) =>
    row
      .map(({ text, paint }, index) => {
        const width = widths[index] ?? 0;
        const fitted = fitLine(text, width);
        return paint(index === last ? fitted : padLine(fitted, width));
      })
      .join(GAP)
      .trimEnd(),
  );
}

/** Cuts a text to one line of at most `columns` cells of a terminal. The text must have no color codes. */
export function fitLine(text: string, columns: number): string {
  const line = text.replaceAll(/\s*\n\s*/g, ' ');
  if (widthOf(line) <= columns) return line;
  let room = columns - 1;
  let fitting = '';
  for (const sign of line) {
    room -= widthOf(sign);
    if (room < 0) break;
    fitting += sign;
  }
  return `${fitting}…`;
}

/** Fills a text with spaces to `columns` cells of a terminal. */
export function padLine(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(columns - widthOf(text), 0));
}

/**
 * Wraps a text between words into lines of at most `columns` characters, without counting color codes. All but the first
 * are indented. A longer word, such as a URL, stays whole.
 */
export function wrapLine(text: string, columns: number, indent: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  // A label and the text in its column stay together.
  for (const word of text.split(/(?<=\S) (?=\S)/u)) {
    const longer = line === '' ? word : `${line} ${word}`;
    const isFull = widthOf(line) > indent && widthOf(longer) > columns;
    if (isFull) lines.push(line);
    line = isFull ? ' '.repeat(indent) + word : longer;
  }
  return [...lines, line];
}

const TWO_CELLS =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
const NO_CELL = /[\p{Mn}\p{Me}\p{Cf}]/u;

/** How many cells of a terminal a text takes: two for an emoji or a Chinese, Japanese or Korean character. */
function widthOf(text: string): number {
  const plain = stripVTControlCharacters(text);
  if (/^[ -~]*$/.test(plain)) return plain.length;
  let width = 0;
  for (const sign of plain) width += TWO_CELLS.test(sign) ? 2 : NO_CELL.test(sign) ? 0 : 1;
  return width;
}

/** Shortens the ids in a text to their first characters, which identify a revision. */
export function shortIds(text: string): string {
  return text.replaceAll(/\b([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, '$1');
}
