import { readFileSync } from 'node:fs';

import { Ajv } from 'ajv';
import { expect, it } from 'vitest';

import { publishedJsonSchema } from '../../src/config/jsonSchema.ts';

it('the published JSON Schema is the one of the code', () => {
  const published: unknown = JSON.parse(
    readFileSync(new URL('../../docs/slipway.schema.json', import.meta.url), 'utf8'),
  );
  expect(published).toEqual(JSON.parse(JSON.stringify(publishedJsonSchema())));
});

it('a file that extends another has to say nothing, and says nothing that is unknown', () => {
  const ajv = new Ajv({ strict: false, validateFormats: false });
  const validate = ajv.compile(publishedJsonSchema());
  const target = { deployment: 'greeter' };
  expect(validate({ targets: { staging: target } })).toBe(false);
  expect(
    validate({ extends: 'base.yaml', targets: { staging: target } }),
    ajv.errorsText(validate.errors),
  ).toBe(true);
  expect(validate({ extends: 'base.yaml', targets: { staging: { deploymnet: 'greeter' } } })).toBe(false);
});
