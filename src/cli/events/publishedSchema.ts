import { z } from 'zod';

import { OPEN } from './fields.ts';
import { SCHEMA_VERSION } from './schemaVersion.ts';
import { LINES } from './sections.ts';

/** A JSON Schema, as far as it is looked at here. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly format?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema;
}

/** What is published: one schema for each line, and the records that they hold. */
export interface PublishedSchema extends JsonSchema {
  readonly anyOf: readonly JsonSchema[];
  readonly $defs: Readonly<Record<string, JsonSchema>>;
}

/**
 * The JSON Schema of the lines that commands print with `--json`, published as `docs/json-events.schema.json`. Further
 * fields are let in everywhere, and further words where others may come: a program goes on reading what later versions
 * of Slipway add.
 */
export function eventsJsonSchema(): PublishedSchema {
  const { anyOf, $defs } = published(z.toJSONSchema(z.union(LINES), { io: 'input' })) as PublishedSchema;
  return {
    ...{ $schema: 'https://json-schema.org/draft/2020-12/schema' },
    ...{ $id: `urn:slipway:json-events:${SCHEMA_VERSION}` },
    title: 'slipway --json',
    description: 'One line that a command of Slipway prints with --json',
    anyOf: anyOf.map(lineOf),
    $defs,
  };
}

/** The schema of a whole line: an event, and the version that the output adds. */
function lineOf({ properties = {}, required = [], ...line }: JsonSchema): JsonSchema {
  const { event, ...fields } = properties;
  return {
    title: String(event?.const),
    ...line,
    properties: { event: { ...event }, schemaVersion: { type: 'integer', const: SCHEMA_VERSION }, ...fields },
    required: ['event', 'schemaVersion', ...required.filter((name) => name !== 'event')],
  };
}

/** A schema as it is published, at any depth: without what holds our own lines alone. */
function published(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(published);
  if (typeof schema !== 'object' || schema === null) return schema;
  const fields = Object.entries(schema).map(([name, value]) => [name, published(value)] as const);
  const told = Object.fromEntries(fields.filter(([name, value]) => !isOurs(name, value)));
  // The pattern of a moment says again what its format says.
  if (told['format'] === 'date-time') delete told['pattern'];
  return OPEN in schema ? opened(told) : told;
}

function isOurs(name: string, value: unknown): boolean {
  if (name === 'additionalProperties') return value === false;
  // The largest safe integer is no bound that anybody set.
  return name === 'maximum' || name === 'minimum'
    ? Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER
    : false;
}

/** Words to which others may come, as a text that tells them. */
function opened({ [OPEN]: where, enum: words, ...schema }: Record<string, unknown>): Record<string, unknown> {
  const listed = (words as readonly string[]).map((word) => `\`${word}\``).join(', ');
  const { description } = schema;
  const told = `One of ${where === true ? listed : String(where)}; others may come`;
  return { ...schema, description: typeof description === 'string' ? `${description}. ${told}` : told };
}
