import { EVENTS } from '../../src/cli/events/index.ts';
import { SCHEMA_VERSION } from '../../src/cli/events/schemaVersion.ts';

const TOLD_CHARACTERS = 200;

/**
 * Holds a line that a command printed with `--json` to the schema of its event: it says its version, and has all fields
 * of one of the event's lines, and no other.
 *
 * @returns what is wrong with it, field by field; `undefined`: nothing.
 */
export function lineProblem(line: Readonly<Record<string, unknown>>): string | undefined {
  const { schemaVersion, ...event } = line;
  if (schemaVersion !== SCHEMA_VERSION) return `no schemaVersion ${SCHEMA_VERSION}: ${JSON.stringify(line)}`;
  return eventProblem(event);
}

/** The same for an event as it is handed to the output, before it has a version. */
export function eventProblem(event: Readonly<Record<string, unknown>>): string | undefined {
  const printed = JSON.stringify(event);
  const attempts = EVENTS.filter((schema) => schema.shape.event.value === event['event']).map((schema) =>
    schema.safeParse(JSON.parse(printed)),
  );
  if (attempts.some(({ success }) => success)) return undefined;
  const [nearest = []] = attempts
    .flatMap(({ error }) => (error === undefined ? [] : [error.issues]))
    .sort((one, other) => one.length - other.length);
  const wrong = nearest.map(({ path, message }) => `${path.join('.')}: ${message.slice(0, TOLD_CHARACTERS)}`);
  const why = attempts.length === 0 ? 'there is no such event' : wrong.join('; ');
  return `${String(event['event'])}: ${why}: ${printed.slice(0, 10 * TOLD_CHARACTERS)}`;
}
