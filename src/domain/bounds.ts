/**
 * What bounds a target's state: it travels as one payload from run to run, of which Temporal takes 2 MB (2,097,152
 * bytes). Every list in it has a greatest length and a greatest size of its own, and a request has one (200,000 bytes);
 * together they stay under {@link STATE_MAX_BYTES}, whatever people call things and however long their reasons are.
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
