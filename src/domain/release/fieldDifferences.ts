import { canonicalJson } from '@slipway/contract/canonicalJson';

/** One field in which two configurations differ. */
export interface FieldDifference {
  /** The field's path: `checks.greets.timeoutMs`. Items of a list are named by their `name` if they have one. */
  readonly path: string;
  /** Absent: it is not set there. */
  readonly from?: unknown;
  /** Absent: it is not set there. */
  readonly to?: unknown;
}

/** The fields in which two plain values differ, by their paths. Lists of single values are compared as a whole. */
export function fieldDifferences(from: unknown, to: unknown): readonly FieldDifference[] {
  const [one, other] = [leavesOf(from), leavesOf(to)];
  return [...new Set([...one.keys(), ...other.keys()])]
    .sort()
    .map((path) => ({ path, from: one.get(path), to: other.get(path) }))
    .filter((field) => canonicalJson(field.from ?? null) !== canonicalJson(field.to ?? null));
}

function leavesOf(value: unknown): ReadonlyMap<string, unknown> {
  const leaves = new Map<string, unknown>();
  const visit = (part: unknown, path: string): void => {
    const fields = fieldsOf(part);
    if (fields === undefined) leaves.set(path, part);
    else for (const [name, field] of fields) visit(field, path === '' ? name : `${path}.${name}`);
  };
  visit(value, '');
  return leaves;
}

/** What has parts of its own. What is empty has none, and is a value. */
function fieldsOf(value: unknown): readonly (readonly [name: string, value: unknown])[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (!Array.isArray(value)) {
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    return fields.length === 0 ? undefined : fields;
  }
  const named = value.map((item: unknown) => [nameOf(item), item] as const);
  const names = named.flatMap(([name]) => (name === undefined ? [] : [name]));
  if (names.length === 0 || new Set(names).size < value.length) return undefined;
  return named.map(([name, item]) => [name ?? '', item]);
}

function nameOf(item: unknown): string | undefined {
  const name: unknown = typeof item === 'object' && item !== null && 'name' in item ? item.name : undefined;
  return typeof name === 'string' ? name : undefined;
}
