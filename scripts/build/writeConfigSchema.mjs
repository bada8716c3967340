// `docs/slipway.schema.json`: the JSON Schema of `slipway.yaml`, for editors. It is committed; a test holds it current.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { format, resolveConfig } from 'prettier';

import { DIST, ROOT } from './freshness.mjs';

const SCHEMA = join(ROOT, 'docs/slipway.schema.json');

/** Writes the schema where it differs from what is there. */
export async function writeConfigSchema() {
  const { configJsonSchema } = await import(pathToFileURL(join(DIST, 'config/jsonSchema.js')).href);
  const settings = await resolveConfig(SCHEMA);
  const text = await format(JSON.stringify(configJsonSchema()), { ...settings, parser: 'json' });
  if (!existsSync(SCHEMA) || readFileSync(SCHEMA, 'utf8') !== text) writeFileSync(SCHEMA, text);
}
