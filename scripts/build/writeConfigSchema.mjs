// `docs/slipway.schema.json`: the JSON Schema of `slipway.yaml`, for editors. It is committed; a test holds it current.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { DIST, ROOT } from './freshness.mjs';

const SCHEMA = join(ROOT, 'docs/slipway.schema.json');

/** Writes the schema where it differs from what is there. */
export async function writeConfigSchema() {
  const { configJsonSchema } = await import(pathToFileURL(join(DIST, 'config/jsonSchema.js')).href);
  const text = `${JSON.stringify(configJsonSchema(), null, 2)}\n`;
  if (!existsSync(SCHEMA) || readFileSync(SCHEMA, 'utf8') !== text) writeFileSync(SCHEMA, text);
}
