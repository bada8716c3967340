import { readFileSync } from 'node:fs';

import { expect, it } from 'vitest';

import { configJsonSchema } from '../../src/config/jsonSchema.ts';

it('the published JSON Schema is the one of the code', () => {
  const published: unknown = JSON.parse(
    readFileSync(new URL('../../docs/slipway.schema.json', import.meta.url), 'utf8'),
  );
  expect(published).toEqual(JSON.parse(JSON.stringify(configJsonSchema())));
});
