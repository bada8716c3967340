// What is published of the schema of `slipway.yaml`: `docs/slipway.schema.json` for editors, and `docs/slipway-yaml.md`, the
// reference, for people. Both are committed; tests hold them current.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { format, resolveConfig } from 'prettier';

import { DIST, ROOT } from './freshness.mjs';

/** Writes both where they differ from what is there. */
export async function writeConfigSchema() {
  const { configJsonSchema, publishedJsonSchema } = await fromBuild('config/jsonSchema.js');
  const { configReferencePage } = await fromBuild('config/referencePage.js');
  await publish('docs/slipway.schema.json', JSON.stringify(publishedJsonSchema()));
  await publish('docs/slipway-yaml.md', configReferencePage(configJsonSchema()));
}

async function fromBuild(path) {
  return import(pathToFileURL(join(DIST, path)).href);
}

async function publish(path, content) {
  const file = join(ROOT, path);
  const text = await format(content, { ...(await resolveConfig(file)), filepath: file });
  if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text);
}
