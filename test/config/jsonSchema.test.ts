import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { Ajv } from 'ajv';
import { format, resolveConfig } from 'prettier';
import { expect, it } from 'vitest';

import { configJsonSchema } from '../../src/config/jsonSchema.ts';

const script = (name: string) => new URL(`../../scripts/build/${name}`, import.meta.url).href;
const { configPage } = (await import(script('configPage.mjs'))) as {
  readonly configPage: (schema: object) => string;
};
const { editorSchema } = (await import(script('editorSchema.mjs'))) as {
  readonly editorSchema: (schema: object) => object;
};

it('the published JSON Schema matches the code', () => {
  const published: unknown = JSON.parse(
    readFileSync(new URL('../../docs/slipway.schema.json', import.meta.url), 'utf8'),
  );
  expect(published).toEqual(JSON.parse(JSON.stringify(editorSchema(configJsonSchema()))));
});

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

const file = fileURLToPath(new URL('../../docs/slipway-yaml.md', import.meta.url));
const published = readFileSync(file, 'utf8');

it('the published reference of slipway.yaml matches the schema', async () => {
  const page = configPage(configJsonSchema());
  expect(published).toBe(await format(page, { ...(await resolveConfig(file)), filepath: file }));
});

it('it describes every field', () => {
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
