/**
 * The limit of a target's state, because Temporal accepts payloads up to 2 MB. Each list in it is limited in items
 * and bytes, and so is a request. Together they stay below this limit, however long names and reasons are.
 */
export const STATE_MAX_BYTES = 1_500_000;

export interface Bound {
  readonly items: number;
  /** As JSON, in UTF-8. */
  readonly bytes: number;
}

/** The newest items of a list of immutable values (oldest first), as many as the limit allows. */
export function newest<T>(list: readonly T[], { items, bytes }: Bound): readonly T[] {
  let first = list.length;
  for (let room = bytes; first > 0 && list.length - first < items; first--) {
    room -= itemBytes(list[first - 1]) + 1;
    if (room < 0) break;
  }
  return list.slice(first);
}

/** Shortens a list (oldest first) to a limit: drops the oldest items that can be spared, then the oldest of all. */
export function fitting<T>(
  list: readonly T[],
  { items, bytes }: Bound,
  canSpare: (item: T) => boolean,
): readonly T[] {
  let excess = list.reduce((sum, item) => sum + itemBytes(item) + 1, -bytes);
  let tooMany = list.length - items;
  const fits = (): boolean => excess <= 0 && tooMany <= 0;
  if (fits()) return list;
  const kept = list.filter((item) => {
    if (fits() || !canSpare(item)) return true;
    excess -= itemBytes(item) + 1;
    tooMany--;
    return false;
  });
  return newest(kept, { items, bytes });
}

/** Cuts a text to a limit of JSON bytes, without its quotes, never inside a character. A cut text ends with "…". */
export function cutText(text: string, bytes: number): string {
  if (text.length * LONGEST_UNIT <= bytes || textBytes(text) <= bytes) return text;
  let room = bytes - textBytes(CUT);
  let end = 0;
  for (const character of text) {
    room -= textBytes(character);
    if (room < 0) break;
    end += character.length;
  }
  return `${text.slice(0, end)}${CUT}`;
}

/** A text from outside as one line, without characters that reorder the text after them. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\s\u202a-\u202e\u2066-\u2069]+/gu, ' ');
}

const CUT = '…';
/** The most JSON bytes for one UTF-16 unit: an escape such as `\u0001`. */
const LONGEST_UNIT = 6;

function textBytes(text: string): number {
  return jsonBytes(text) - 2;
}

/** The size of a value as JSON, in UTF-8 bytes. */
export function jsonBytes(value: unknown): number {
  return UTF_8.encode(JSON.stringify(value)).length;
}

const UTF_8 = new TextEncoder();

/** The size of each item is computed once, so that a message costs the same however long the list is. */
function itemBytes(item: unknown): number {
  if (typeof item !== 'object' || item === null) return jsonBytes(item);
  const known = MEASURED.get(item);
  if (known !== undefined) return known;
  const bytes = jsonBytes(item);
  MEASURED.set(item, bytes);
  return bytes;
}

const MEASURED = new WeakMap<object, number>();
