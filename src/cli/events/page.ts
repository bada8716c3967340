import type { JsonSchema, PublishedSchema } from './publishedSchema.ts';
import { SCHEMA_VERSION } from './schemaVersion.ts';
import { LINES, type Section, SECTIONS } from './sections.ts';

const INTRODUCTION = `# \`--json\`

With \`--json\` every command prints one JSON object per line on stdout, and no text. Each object has an \`event\`, and the
\`schemaVersion\` that it follows: ${SCHEMA_VERSION}. Times are ISO 8601, durations are in milliseconds. A field with a \`?\` after it is
left out where it does not apply; every other field is always there. Of fields that say all by their names, a table has
nothing more.

This page is made from the schemas that every line is held to in tests (\`npm run build\`); programs find the same as
JSON Schema, \`docs/json-events.schema.json\`.

The exit code is the same as without \`--json\` ([Exit codes](exit-codes.md)); the last object of most commands repeats it as
\`exitCode\`.

## What may change

Without a new version there may come new events, new fields of an event or a record, and new words where a list says that
others may come; programs pass over those that they do not know. A new version is made where an event or a field goes away or
gets another name, where a field gets another kind or meaning, may be \`null\` or left out where it was not, and where
a word comes to a list that does not say so. What the control plane itself names (\`platform …\`, but for \`ready\`) and what is
free text (\`message\`, \`reason\`, \`note\`, \`detail\`, \`phase\`) follow no version.
`;

/**
 * The page of the lines that commands print with `--json`, published as `docs/json.md`: a section for some commands, with
 * a table of their events, and one of the fields that say more than their names; then the records that they hold.
 *
 * @param schema - see `eventsJsonSchema`.
 */
export function jsonEventsPage({ anyOf: lines, $defs }: PublishedSchema): string {
  const lineOf = new Map(LINES.map((event, index) => [event, lines[index] ?? {}]));
  const sections = SECTIONS.map((section) => sectionText(section, (event) => lineOf.get(event) ?? {}));
  const records = Object.entries($defs).map(
    ([name, record]) => `### ${name}\n\n${record.description ?? ''}.\n\n${fieldsTable(everyField(record))}`,
  );
  return `${[INTRODUCTION, ...sections, '## Records', ...records].join('\n\n')}\n`;
}

function sectionText(
  { title, events, told }: Section,
  lineOf: (event: Section['events'][number]) => JsonSchema,
): string {
  const lines = events.map(lineOf);
  const rows = lines.map((line) => {
    const names = fieldsOf(line).map(nameText).join(', ');
    return `| ${code(line.title ?? '')} | ${names} | ${inCell(line.description ?? '')} |`;
  });
  const details = new Map<string, Set<string>>();
  for (const line of lines) {
    for (const field of fieldsOf(line).filter(saysMore)) {
      const told = `${code(field.name)} | ${kindAndWords(field)} |`;
      details.set(told, (details.get(told) ?? new Set()).add(code(line.title ?? '')));
    }
  }
  const detailRows = [...details].map(([told, of]) => `| ${[...of].join(', ')} | ${told}`);
  return [
    `## ${title}`,
    table('| event | fields | when |', rows),
    ...(detailRows.length === 0 ? [] : [table('| of | field | kind | what it says |', detailRows)]),
    ...(told === undefined ? [] : [told]),
  ].join('\n\n');
}

interface Field {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly isAlways: boolean;
}

/** The fields of a line or a record, beside those that every line has. */
function fieldsOf({ properties = {}, required = [] }: JsonSchema): readonly Field[] {
  const isLine = 'schemaVersion' in properties;
  return Object.entries(properties)
    .filter(([name]) => !isLine || (name !== 'event' && name !== 'schemaVersion'))
    .map(([name, schema]) => ({ name, schema, isAlways: required.includes(name) }));
}

/** The fields of a record; of several kinds of one, those of each. */
function everyField(record: JsonSchema): readonly Field[] {
  const kinds = record.oneOf ?? record.anyOf ?? [record];
  const fields = new Map<string, Field>();
  for (const field of kinds.flatMap(fieldsOf)) {
    const earlier = fields.get(field.name);
    fields.set(field.name, earlier === undefined ? field : eitherOf(earlier, field));
  }
  const isInAll = (name: string): boolean => kinds.every((kind) => kind.required?.includes(name) === true);
  return [...fields.values()].map((field) => ({ ...field, isAlways: isInAll(field.name) }));
}

function eitherOf(one: Field, other: Field): Field {
  const isSame = JSON.stringify(one.schema) === JSON.stringify(other.schema);
  return isSame ? one : { ...one, schema: { anyOf: [one.schema, other.schema] } };
}

/** Whether a field's name and that it is there, or may be `null`, is not all that there is to say of it. */
function saysMore({ schema }: Field): boolean {
  return schema.description !== undefined || !PLAIN.has(kindOf(schema).replace(OR_NULL, ''));
}

function nameText({ name, schema, isAlways }: Field): string {
  return `${code(name)}${isAlways ? '' : '?'}${isNullable(schema) ? ' or `null`' : ''}`;
}

function fieldsTable(fields: readonly Field[]): string {
  const rows = fields.map(
    (field) => `| ${code(field.name)}${field.isAlways ? '' : '?'} | ${kindAndWords(field)} |`,
  );
  return table('| field | kind | what it says |', rows);
}

function kindAndWords({ schema }: Field): string {
  return `${inCell(kindOf(schema))} | ${inCell(schema.description ?? '')}`;
}

const OR_NULL = ', or `null`';
const PLAIN: ReadonlySet<string> = new Set(['text', 'time', 'number', 'whole number', '`true`, `false`']);

/** What a field is, in words; a record by its name, with a link to it. */
function kindOf(schema: JsonSchema): string {
  const { $ref, type, format, items, properties } = schema;
  if ($ref !== undefined) {
    const name = $ref.slice($ref.lastIndexOf('/') + 1);
    return `[${name}](#${name.toLowerCase()})`;
  }
  const several = schema.anyOf ?? schema.oneOf;
  if (several !== undefined) return several.map(kindOf).join(', or ');
  const words = schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
  if (words !== undefined) return words.map((word) => code(String(word))).join(', ');
  if (Array.isArray(type)) return type.map((one: string) => kindOf({ ...schema, type: one })).join(', or ');
  switch (type) {
    case 'null':
      return code('null');
    case 'array':
      return `list of ${kindOf(items ?? {})}`;
    case 'object':
      return properties === undefined ? 'object of your own' : partsOf(schema);
    case 'string':
      return format === 'date-time' ? 'time' : 'text';
    case 'integer':
      return 'whole number';
    case 'boolean':
      return '`true`, `false`';
    default:
      return typeof type === 'string' ? type : 'anything';
  }
}

/** An object that is no record of its own: its fields. */
function partsOf(schema: JsonSchema): string {
  const fields = fieldsOf(schema).map((field) => {
    const kind = kindOf(field.schema).replace(OR_NULL, '');
    const { description } = field.schema;
    const more = [...(PLAIN.has(kind) ? [] : [kind]), ...(description === undefined ? [] : [description])];
    return `${nameText(field)}${more.length === 0 ? '' : ` (${more.join(': ')})`}`;
  });
  return `object: ${fields.join(', ')}`;
}

function isNullable({ type, anyOf = [] }: JsonSchema): boolean {
  return type?.includes('null') === true || anyOf.some((kind) => kind.type === 'null');
}

function table(head: string, rows: readonly string[]): string {
  const line = head.replace(/[^|]+/gu, ' --- ');
  return [head, line, ...rows].join('\n');
}

function code(text: string): string {
  return `\`${text}\``;
}

function inCell(text: string): string {
  return text.replaceAll('|', '\\|');
}
