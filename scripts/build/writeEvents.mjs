// What is published of the events of `--json`: `docs/json-events.schema.json` for programs, and `docs/json.md` for people.
import { eventsPage } from './eventsPage.mjs';
import { eventsSchema } from './eventsSchema.mjs';
import { fromBuild, publish } from './publish.mjs';

/** Writes both where they differ from what is there. */
export async function writeEvents() {
  const { SCHEMA_VERSION } = await fromBuild('cli/output.js');
  const events = eventsSchema(SCHEMA_VERSION);
  await publish('docs/json-events.schema.json', JSON.stringify(events.schema));
  await publish('docs/json.md', eventsPage(events, SCHEMA_VERSION));
}
