// What is published of the schemas of `--json`: `docs/json-events.schema.json` for programs, and `docs/json.md` for people.
import { fromBuild, publish } from './publish.mjs';

/** Writes both where they differ from what is there. */
export async function writeEvents() {
  const { eventsJsonSchema } = await fromBuild('cli/events/publishedSchema.js');
  const { jsonEventsPage } = await fromBuild('cli/events/page.js');
  const schema = eventsJsonSchema();
  await publish('docs/json-events.schema.json', JSON.stringify(schema));
  await publish('docs/json.md', jsonEventsPage(schema));
}
