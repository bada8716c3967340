import { readFileSync } from 'node:fs';

import { Ajv } from 'ajv';
import { expect, it } from 'vitest';

import { configJsonSchema } from '../../src/config/jsonSchema.ts';

const script = (name: string) => new URL(`../../scripts/build/${name}`, import.meta.url).href;
const { editorSchema } = (await import(script('editorSchema.mjs'))) as {
  readonly editorSchema: (schema: object) => object;
};

it('a file that extends another requires no field, and rejects unknown ones', () => {
  const ajv = new Ajv({ strict: false, validateFormats: false });
  const validate = ajv.compile(editorSchema(configJsonSchema()));
  const target = { deployment: 'greeter' };
  expect(validate({ targets: { staging: target } })).toBe(false);
  expect(
    validate({ extends: 'base.yaml', targets: { staging: target } }),
    ajv.errorsText(validate.errors),
  ).toBe(true);
  expect(validate({ extends: 'base.yaml', targets: { staging: { deploymnet: 'greeter' } } })).toBe(false);
});

it('the published reference of slipway.yaml describes every field', () => {
  const published = readFileSync(new URL('../../docs/slipway-yaml.md', import.meta.url), 'utf8');
  const described = [...published.matchAll(/^- `(\w+)` \(.+\):\n {2}\S/gmu)].map(([, name]) => name);
  expect([...new Set(described)].toSorted()).toEqual(fieldsOf(configJsonSchema()));
});

function fieldsOf(schema: object): readonly string[] {
  const fields = new Set<string>();
  JSON.stringify(schema, (key, value: unknown) => {
    if (key === 'properties') for (const name of Object.keys(value as object)) fields.add(name);
    return value;
  });
  return [...fields].toSorted();
}
