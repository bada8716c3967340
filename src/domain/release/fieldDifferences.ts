import { canonicalJson } from '@slipway/contract/json';

import { formatDuration } from '../duration.ts';
import { isRecord } from '../scalars.ts';
import type { TargetSpec } from '../target/targetSpec.ts';

/** One field in which two configurations differ. */
export interface FieldDifference {
  /** The field's path: `checks.greets.timeoutMs`. Items of a list are named by their `name` if they have one. */
  readonly path: string;
  /** Absent: it is not set there. */
  readonly from?: unknown;
  /** Absent: it is not set there. */
  readonly to?: unknown;
}

/** The fields in which two plain values differ, by path. Lists of unnamed values are compared as a whole. */
export function fieldDifferences(from: unknown, to: unknown): readonly FieldDifference[] {
  const [one, other] = [leavesOf(from), leavesOf(to)];
  return [...new Set([...one.keys(), ...other.keys()])]
    .sort()
    .map((path) => ({ path, from: one.get(path), to: other.get(path) }))
    .filter((field) => canonicalJson(field.from ?? null) !== canonicalJson(field.to ?? null));
}

/** The settings of a target that a promotion compares. */
export interface ComparedSettings {
  readonly target: Pick<TargetSpec, 'controlPlane' | 'source' | 'sourceConfig' | 'secrets' | 'vocabulary'>;
  readonly graphConfigPath: string | null;
  readonly soakMs: number;
}

/** How the settings of two targets differ, one sentence each. For secrets, names and references are compared. */
export function configDifferences(from: ComparedSettings, to: ComparedSettings): readonly string[] {
  return fieldDifferences(flat(from), flat(to)).map(
    ({ path, from: one, to: other }) => `${path}: ${shown(one)} → ${shown(other)}`,
  );
}

function flat({ target, graphConfigPath, soakMs }: ComparedSettings): Readonly<Record<string, unknown>> {
  const { controlPlane, vocabulary = 'contract', source, sourceConfig, secrets = [] } = target;
  return {
    controlPlane,
    vocabulary,
    source,
    graphConfig: graphConfigPath,
    soak: formatDuration(soakMs),
    ...sourceConfig,
    ...Object.fromEntries(secrets.map(({ name, from }) => [`secret ${name}`, from])),
  };
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return 'not set';
  return typeof value === 'string' ? value : JSON.stringify(value);
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

/** A value's fields; `undefined` for a value without fields, such as an empty object. */
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
  const name = isRecord(item) ? item['name'] : undefined;
  return typeof name === 'string' ? name : undefined;
}
