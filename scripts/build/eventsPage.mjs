// docs/json.md: sections by command, each with a table of events and one of fields whose names do not explain them;
// then the records in the events.

const introduction = (version) => `# \`--json\`

With \`--json\` every command prints one JSON object per line on stdout, and no text. Each object has an \`event\`, and the
\`schemaVersion\` that it follows: ${version}. Times are ISO 8601, durations are in milliseconds. A field with a \`?\` after it may be
absent; every other field is always there. The tables leave out what a field's name says.

This page is made from the types of the events (\`npm run build\`), and so is the JSON Schema for programs,
\`docs/json-events.schema.json\`. Tests check each printed line against it.

The exit code is the same as without \`--json\` ([Exit codes](exit-codes.md)). The last object of most commands repeats it as
\`exitCode\`.

## What may change

The same version may get new events, new fields of an event or a record, and new words where a list says that others may
come. A program ignores those that it does not know. A change needs a new version if it

- removes or renames an event or a field,
- changes a field's kind or meaning, or lets it be \`null\` or absent where it was not,
- adds a word to a list that does not say that others may come.

The control plane's own names (\`platform …\`, except \`ready\`) and free text (\`message\`, \`reason\`, \`note\`, \`detail\`, \`phase\`)
follow no version.
`;

/** The page, from the result of `eventsSchema`. */
export function eventsPage({ schema, sections }, version) {
  const records = Object.entries(schema.$defs).map(
    ([name, record]) => `### ${name}\n\n${record.description}\n\n${fieldsTable(everyField(record))}`,
  );
  return [introduction(version), ...sections.map(sectionText), '## Records', ...records].join('\n\n');
}

function sectionText({ title, text, lines }) {
  const rows = lines.map((line) => {
    const names = fieldsOf(line).map(nameText).join(', ');
    return `| ${code(line.title)} | ${names} | ${inCell(line.description)} |`;
  });
  const details = new Map();
  for (const line of lines) {
    for (const field of fieldsOf(line).filter(saysMore)) {
      const words = `${code(field.name)} | ${kindAndWords(field)} |`;
      details.set(words, [...(details.get(words) ?? []), code(line.title)]);
    }
  }
  const detailRows = [...details].map(([words, events]) => `| ${events.join(', ')} | ${words}`);
  return [
    `## ${title}`,
    table('| event | fields | when |', rows),
    ...(detailRows.length === 0 ? [] : [table('| of | field | kind | what it says |', detailRows)]),
    text,
  ].join('\n\n');
}

/** The fields of a line or a record, except those that every line has. */
function fieldsOf({ properties = {}, required = [] }) {
  const isLine = 'schemaVersion' in properties;
  return Object.entries(properties)
    .filter(([name]) => !isLine || (name !== 'event' && name !== 'schemaVersion'))
    .map(([name, schema]) => ({ name, schema, isAlways: required.includes(name) }));
}

/** The fields of a record. If it has several kinds, the fields of each. */
function everyField(record) {
  const kinds = record.anyOf ?? [record];
  const fields = new Map();
  for (const field of kinds.flatMap(fieldsOf)) {
    const earlier = fields.get(field.name);
    const isSame = earlier === undefined || kindOf(earlier.schema) === kindOf(field.schema);
    const schema = isSame ? field.schema : { anyOf: [earlier.schema, field.schema] };
    const isAlways = kinds.every(({ required = [] }) => required.includes(field.name));
    fields.set(field.name, { name: field.name, schema, isAlways });
  }
  return [...fields.values()];
}

/** Whether a field needs more documentation than its name and that it may be absent or `null`. */
function saysMore({ schema }) {
  return schema.description !== undefined || !PLAIN.has(kindOf(schema).replace(OR_NULL, ''));
}

function nameText({ name, schema, isAlways }) {
  return `${code(name)}${isAlways ? '' : '?'}${kindOf(schema).endsWith(OR_NULL) ? ' or `null`' : ''}`;
}

function fieldsTable(fields) {
  const rows = fields.map(
    (field) => `| ${code(field.name)}${field.isAlways ? '' : '?'} | ${kindAndWords(field)} |`,
  );
  return table('| field | kind | what it says |', rows);
}

function kindAndWords({ schema }) {
  return `${inCell(kindOf(schema))} | ${inCell(schema.description ?? '')}`;
}

const OR_NULL = ', or `null`';
const PLAIN = new Set(['text', 'time', 'number', 'whole number', '`true`, `false`']);

/** A field's type in words; a record as a link. */
function kindOf({ $ref, anyOf, enum: words, const: word, ...schema }) {
  const { type, format, items, properties } = schema;
  if ($ref !== undefined) {
    const name = $ref.slice($ref.lastIndexOf('/') + 1);
    return `[${name}](#${name.toLowerCase()})`;
  }
  if (anyOf !== undefined) return anyOf.map(kindOf).join(', or ');
  if (words !== undefined) {
    const listed = words.filter((one) => one !== null).map((one) => code(one));
    return `${listed.join(', ')}${words.includes(null) ? OR_NULL : ''}`;
  }
  if (word !== undefined) return code(word);
  if (Array.isArray(type)) return type.map((one) => kindOf({ ...schema, type: one })).join(', or ');
  switch (type) {
    case 'null':
      return code('null');
    case 'array':
      return `list of ${kindOf(items)}`;
    case 'object':
      return properties === undefined ? 'object of your own' : `object: ${partsOf(schema)}`;
    case 'string':
      return format === 'date-time' ? 'time' : 'text';
    case 'integer':
      return 'whole number';
    case 'boolean':
      return '`true`, `false`';
    default:
      return type ?? 'anything';
  }
}

/** The fields of an inline object. */
function partsOf(schema) {
  const parts = fieldsOf(schema).map((field) => {
    const kind = kindOf(field.schema).replace(OR_NULL, '');
    const more = [PLAIN.has(kind) ? '' : kind, field.schema.description ?? ''].filter((text) => text !== '');
    return `${nameText(field)}${more.length === 0 ? '' : ` (${more.join(': ')})`}`;
  });
  return parts.join(', ');
}

function table(head, rows) {
  return [head, head.replaceAll(/[^|]+/gu, ' --- '), ...rows].join('\n');
}

function code(text) {
  return `\`${text}\``;
}

/** Escapes pipes, which would end the cell. */
function inCell(text) {
  return text.replaceAll('|', '\\|');
}
