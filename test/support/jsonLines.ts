import { readFileSync } from 'node:fs';

import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

import { isRecord } from '../../src/domain/scalars.ts';

interface Schema {
  readonly $id: string;
  readonly anyOf: readonly { readonly title: string }[];
}

/** The published schema, but without the allowance for fields of later versions. */
const SCHEMA = JSON.parse(
  readFileSync(new URL('../../docs/json-events.schema.json', import.meta.url), 'utf8'),
  (_name, value: unknown) =>
    isRecord(value) && isRecord(value['properties']) ? { additionalProperties: false, ...value } : value,
) as Schema;
const TOLD_CHARACTERS = 200;

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema(SCHEMA);

/**
 * Checks a line that a command printed with `--json` against the published schema, also for other fields.
 * @returns its problems, field by field; `undefined`: none.
 */
export function lineProblem(line: Readonly<Record<string, unknown>>): string | undefined {
  const attempts = SCHEMA.anyOf.flatMap(({ title }, index) => {
    if (title !== line['event']) return [];
    const validate = ajv.getSchema(`${SCHEMA.$id}#/anyOf/${index}`);
    return validate?.(line) === true ? [[]] : [validate?.errors ?? []];
  });
  const [nearest = []] = attempts.sort((one, other) => one.length - other.length);
  if (attempts.length > 0 && nearest.length === 0) return undefined;
  const why = attempts.length === 0 ? 'there is no such event' : nearest.map(errorText).join('; ');
  return `${String(line['event'])}: ${why}: ${JSON.stringify(line).slice(0, 10 * TOLD_CHARACTERS)}`;
}

function errorText({ instancePath, message = '', params }: ErrorObject): string {
  const { missingProperty, additionalProperty } = params as Readonly<Record<string, unknown>>;
  const field = [instancePath.slice(1), missingProperty ?? additionalProperty]
    .filter((part) => typeof part === 'string' && part !== '')
    .join('/');
  return `${field}: ${message}`.slice(0, TOLD_CHARACTERS);
}
