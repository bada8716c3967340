// Pages and schemas that the build generates from the code. It writes only changed files. They are committed; in CI the
// build fails if they are not current.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { format, resolveConfig } from 'prettier';

import { commandsPage } from './commandsPage.mjs';
import { configPage } from './configPage.mjs';
import { editorSchema } from './editorSchema.mjs';
import { eventsPage } from './eventsPage.mjs';
import { eventsSchema } from './eventsSchema.mjs';
import { DIST, ROOT } from './freshness.mjs';

/** The schema of `slipway.yaml`, for editors, and its reference, for people. */
export async function writeConfigSchema() {
  const { configJsonSchema } = await fromBuild('config/loadConfig.js');
  const schema = configJsonSchema();
  await publish('docs/slipway.schema.json', JSON.stringify(editorSchema(schema)));
  await publish('docs/slipway-yaml.md', configPage(schema));
}

/** The reference of the command line. */
export async function writeCommandReference() {
  const { buildProgram } = await fromBuild('cli/program/program.js');
  const program = buildProgram({ version: '0.0.0', onExit: () => undefined });
  await publish('docs/commands.md', commandsPage(program));
}

/** The events of `--json`: a schema for programs, a page for people. */
export async function writeEvents() {
  const { SCHEMA_VERSION } = await fromBuild('cli/output.js');
  const events = eventsSchema(SCHEMA_VERSION);
  await publish('docs/json-events.schema.json', JSON.stringify(events.schema));
  await publish('docs/json.md', eventsPage(events, SCHEMA_VERSION));
}

async function fromBuild(path) {
  return import(pathToFileURL(join(DIST, path)).href);
}

async function publish(path, content) {
  const file = join(ROOT, path);
  const text = await format(content, { ...(await resolveConfig(file)), filepath: file });
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return;
  if (process.env.CI === 'true') throw new Error(`${path} is not current: run npm run build, and commit it`);
  writeFileSync(file, text);
}
