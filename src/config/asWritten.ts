import { isRecord } from '../domain/scalars.ts';

/** A part of a `slipway.yaml` as it is written, valid or not. */
export type Fields = Readonly<Record<string, unknown>>;

/** The fields of a part; none if it is no mapping. */
export function fieldsOf(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

/** The items of a part; none if it is no list. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The problems of items with the name of an earlier one. */
export function namedTwice(list: unknown, what: string) {
  const names = listOf(list).map((item) => fieldsOf(item)['name']);
  return names.flatMap((name, index) =>
    typeof name !== 'string' || names.indexOf(name) === index
      ? []
      : [{ path: [index, 'name'], message: `two ${what} are named "${name}": rename one` }],
  );
}
