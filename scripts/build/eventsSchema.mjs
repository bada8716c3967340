// The JSON Schema of the lines that commands print with `--json`, made from their types in `src/cli/events/`.
import { join } from 'node:path';

import { createGenerator } from 'ts-json-schema-generator';

import { ROOT } from './freshness.mjs';

/**
 * Additional fields are allowed everywhere, and additional words if a type has the tag `@open`, so that programs accept
 * the output of later versions.
 * @param version - the `schemaVersion` of every line.
 * @returns the schema, and its lines by the sections of docs/json.md.
 */
export function eventsSchema(version) {
  const { definitions } = createGenerator({
    path: join(ROOT, 'src/cli/events/index.ts'),
    tsconfig: join(ROOT, 'tsconfig.json'),
    type: 'Sections',
    expose: 'all',
    skipTypeCheck: true,
    sortProps: false,
    extraTags: ['open'],
  }).createSchema('Sections');
  const records = {};
  const sections = definitions.Sections.items
    .flatMap((part) => Object.values(resolved(part).properties))
    .map(sectionOf);
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `urn:slipway:json-events:${version}`,
    title: 'slipway --json',
    description: 'One line that a command of Slipway prints with --json.',
    anyOf: sections.flatMap(({ lines }) => lines),
    $defs: mapValues(records, withOpenWords),
  };
  return { schema, sections };

  function sectionOf(section) {
    const { description, properties } = resolved(section);
    const [title, ...text] = description.split('\n\n');
    return { title, text: text.join('\n\n'), lines: Object.entries(properties).map(lineOf) };
  }

  function lineOf([name, event]) {
    const { properties = {}, required = [], ...line } = withOpenWords(published(resolved(event)));
    // `createOutput` adds the version.
    const always = {
      event: { type: 'string', const: name },
      schemaVersion: { type: 'integer', const: version },
    };
    return {
      title: name,
      ...line,
      properties: { ...always, ...properties },
      required: [...Object.keys(always), ...required],
    };
  }

  /** A schema with its reference resolved. Its own keywords take precedence. */
  function resolved({ $ref, ...schema }) {
    return $ref === undefined ? schema : { ...definitions[nameIn($ref)], ...schema };
  }

  /** A schema as it is published: a named object is a record, any other type is inlined. */
  function published({ $ref, ...schema }) {
    if ($ref === undefined) return plain(schema);
    const name = nameIn($ref);
    const { description, ...type } = definitions[name];
    if (!isObject(type) || name.includes('<')) return published({ ...type, ...schema });
    if (records[name] === undefined) {
      records[name] = {};
      records[name] = { description, ...published(type) };
    }
    return { $ref: `#/$defs/${name}`, ...schema };
  }

  function plain({ anyOf, properties, items, additionalProperties: others, ...schema }) {
    if (anyOf !== undefined) return eitherOf(anyOf.map(published), schema);
    return {
      ...schema,
      ...(properties !== undefined && { properties: mapValues(properties, published) }),
      ...(items !== undefined && { items: published(items) }),
      ...(typeof others === 'object' && { additionalProperties: published(others) }),
    };
  }
}

function nameIn(ref) {
  return decodeURIComponent(ref.slice(ref.lastIndexOf('/') + 1));
}

function isObject({ type, anyOf = [] }) {
  return type === 'object' || anyOf.some(isObject);
}

function mapValues(fields, map) {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, map(value)]));
}

/** A union of types: all words in one list, and `null` as an additional type. */
function eitherOf(types, schema) {
  const isWords = ({ enum: words, const: word }) => words !== undefined || typeof word === 'string';
  const lists = types.filter(isWords);
  const open = lists.find((list) => list.open !== undefined)?.open;
  const words = lists.flatMap(({ enum: several, const: one }) => several ?? [one]);
  const merged = lists.length < 2 ? lists : [{ type: 'string', enum: words, ...(open && { open }) }];
  const [kind, none, ...others] = [...merged, ...types.filter((type) => !isWords(type))];
  if (none === undefined) return { ...kind, ...schema };
  const isPlain = typeof kind.type === 'string' && kind.type !== 'object' && kind.type !== 'array';
  if (others.length > 0 || none.type !== 'null' || !isPlain)
    return { anyOf: [kind, none, ...others], ...schema };
  return { ...kind, type: [kind.type, 'null'], ...(kind.enum && { enum: [...kind.enum, null] }), ...schema };
}

/** A schema in which an open set of words is any string, with the known words in the description. */
function withOpenWords(schema) {
  if (Array.isArray(schema)) return schema.map(withOpenWords);
  if (typeof schema !== 'object' || schema === null) return schema;
  if (schema.open === undefined || schema.enum === undefined) return mapValues(schema, withOpenWords);
  const { open, enum: words, description, ...text } = schema;
  const listed = words.filter((word) => word !== null).map((word) => `\`${word}\``);
  const choices = `One of ${open === true ? listed.join(', ') : open}; others may come.`;
  return { ...text, description: description === undefined ? choices : `${description} ${choices}` };
}
