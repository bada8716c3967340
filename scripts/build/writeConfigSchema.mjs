// What is published of the schema of `slipway.yaml`: `docs/slipway.schema.json` for editors, and `docs/slipway-yaml.md`, the
// reference, for people.
import { fromBuild, publish } from './publish.mjs';

/** Writes both where they differ from what is there. */
export async function writeConfigSchema() {
  const { configJsonSchema, publishedJsonSchema } = await fromBuild('config/jsonSchema.js');
  const { configReferencePage } = await fromBuild('config/referencePage.js');
  await publish('docs/slipway.schema.json', JSON.stringify(publishedJsonSchema()));
  await publish('docs/slipway-yaml.md', configReferencePage(configJsonSchema()));
}
