/**
 * What bounds a target's state: it travels as one payload, of which Temporal takes 2 MB. Each list in it is bounded in
 * items and bytes, and so is a request; together they stay below this, however long names and reasons are.
 */
export const STATE_MAX_BYTES = 1_500_000;

/** How long a list may grow. */
export interface Bound {
  readonly items: number;
  /** As JSON, in UTF-8. */
  readonly bytes: number;
}

/** The newest of a list of immutable things, oldest first, as many as its bound has room for. */
export function newest<T>(list: readonly T[], { items, bytes }: Bound): readonly T[] {
  let first = list.length;
  for (let room = bytes; first > 0 && list.length - first < items; first--) {
    room -= itemBytes(list[first - 1]) + 1;
    if (room < 0) break;
  }
  return list.slice(first);
}

/**
 * A list, oldest first, without the oldest items that can be spared until the rest fits into so many bytes of JSON;
 * then without the oldest of all.
 */
export function fitting<T>(list: readonly T[], bytes: number, canSpare: (item: T) => boolean): readonly T[] {
  let excess = list.reduce((sum, item) => sum + itemBytes(item) + 1, -bytes);
  if (excess <= 0) return list;
  const kept = list.filter((item) => {
    if (excess <= 0 || !canSpare(item)) return true;
    excess -= itemBytes(item) + 1;
    return false;
  });
  return newest(kept, { items: kept.length, bytes });
}

/** A text cut to so many bytes as JSON, without its quotes; never inside a character. What was cut ends with "…". */
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

const CUT = '…';
/** What JSON takes at most for one UTF-16 unit: an escape such as `\u0001`. */
const LONGEST_UNIT = 6;

function textBytes(text: string): number {
  return jsonBytes(text) - 2;
}

/** How many bytes something takes as JSON, in UTF-8. */
export function jsonBytes(value: unknown): number {
  return UTF_8.encode(JSON.stringify(value)).length;
}

const UTF_8 = new TextEncoder();

/** What is kept is measured once: a message costs no more where much is kept already, however many messages there are. */
function itemBytes(item: unknown): number {
  if (typeof item !== 'object' || item === null) return jsonBytes(item);
  const known = MEASURED.get(item);
  if (known !== undefined) return known;
  const bytes = jsonBytes(item);
  MEASURED.set(item, bytes);
  return bytes;
}

const MEASURED = new WeakMap<object, number>();
