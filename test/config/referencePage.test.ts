import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { format, resolveConfig } from 'prettier';
import { expect, it } from 'vitest';

import { configJsonSchema } from '../../src/config/jsonSchema.ts';
import { configReferencePage } from '../../src/config/referencePage.ts';

const file = fileURLToPath(new URL('../../docs/slipway-yaml.md', import.meta.url));
const published = readFileSync(file, 'utf8');

it('the published reference of slipway.yaml is the one of the schema', async () => {
  const page = configReferencePage(configJsonSchema());
  expect(published).toBe(await format(page, { ...(await resolveConfig(file)), filepath: file }));
});

it('it says of every field what it is', () => {
  const fields = published.match(/^- `\w+` \(.+\):$/gmu) ?? [];
  expect(fields.length).toBeGreaterThan(60);
  expect(published.match(/^- `\w+` \(.+\):\n {2}\S/gmu)).toHaveLength(fields.length);
});
