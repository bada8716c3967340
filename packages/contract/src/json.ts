/** Whether a value is an object with fields, not a list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What stores, compares or sends a value needs a stack of its depth. */
const LEVELS_MAX = 1_000;

/** Editors on Windows begin a file with a byte order mark, which is no JSON. */
const BYTE_ORDER_MARK = /^\uFEFF/u;

/** Parses a text as JSON. @returns `undefined` if it is not JSON, or has more levels. */
export function parsedJson(text: string, levels = LEVELS_MAX): unknown {
  try {
    const value: unknown = JSON.parse(text.replace(BYTE_ORDER_MARK, ''));
    return isDeeperThan(value, levels) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** Whether a value has more than this many levels. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (levels < 0 || typeof value !== 'object' || value === null) return levels < 0;
  return Object.values(value).some((item) => isDeeperThan(item, levels - 1));
}

/** JSON with sorted field names: equal values give equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([left], [right]) => (left < right ? -1 : 1)));
  });
}
