// docs/slipway-yaml.md: the reference of `slipway.yaml`, a section per object, a list item per field.

const INTRODUCTION = `# \`slipway.yaml\`

One file in the root of an agent's repository. \`npm run build\` makes this page from the schema that validates the file. Editors
read the same schema as \`docs/slipway.schema.json\`. \`slipway lint\` lists the errors in a file with line and column, and fields
without effect. A field that is not on this page is refused.

Durations are written as \`250ms\`, \`30s\`, \`5m\`, \`1h30m\`, \`2d\`: 30 days at most. The file contains no secrets. It says where
they come from on the worker's machine: \`env:NAME\` or \`file:/absolute/path\`.

## Parts that files share

\`\`\`yaml
extends: ../shared/agents.yaml # or a list: later files override earlier ones
targets:
  staging:
    deployment: greeter # the other file has the rest of staging
    freezes: null # none, even if the other file has some
\`\`\`

A file overrides what it extends. Fields below names are merged. A list or a value is replaced as a whole; \`null\` removes it.
Names of files are relative to the file that names them. All other paths are relative to the file that you release with.

## Variables

\`\`\`yaml
targets:
  staging:
    controlPlane: https://\${vars.REGION:-eu}.deploy.example
    deployment: greeter-\${vars.STAGE}
\`\`\`

\`\${vars.STAGE}\` becomes the value of \`SLIPWAY_VAR_STAGE\` where the command runs. If that is not set or empty, it becomes the
text after \`:-\`. No other variable of the environment can be used. A value that is also the value of a variable named like a secret
is refused, because histories contain the file's values. Within braces or brackets, quote a text with a variable. A whole
value without quotes becomes a number, \`true\` or \`false\` if it is one (not \`12e4567\`): quote a commit. All other dollar signs are
left alone.
`;

/** The page, from the file's JSON Schema (`configJsonSchema`). */
export function configPage(schema) {
  return [
    INTRODUCTION,
    ...sectionsOf('', schema, { definitions: schema.definitions ?? {}, places: new Map() }),
  ].join('\n');
}

/**
 * The section of an object and its nested objects. A definition has its section at its first use.
 * @param known.places - the place of each definition's section.
 */
function sectionsOf(place, schema, known) {
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => [
    name,
    resolvedField(field, place === '' ? name : `${place}.${name}`, known),
  ]);
  const items = fields.map(([name, field]) => {
    const facts = [kindOf(field), schema.required?.includes(name) === true ? 'required' : defaultOf(field)];
    return `- ${code(name)} (${facts.filter((fact) => fact !== '').join('; ')}):\n  ${whatOf(field)}`;
  });
  const heading = place === '' ? '## The file' : `## \`${place}\``;
  const inner = fields.flatMap(([name, field]) => {
    const below = place === '' ? name : `${place}.${name}`;
    const [object, at] = objectIn(field, below);
    return object === undefined ? [] : sectionsOf(at, object, known);
  });
  return [`${heading}\n\n${items.join('\n')}\n`, ...inner];
}

/**
 * A field with the definition that it refers to or is a list of. If that has its section elsewhere, with the place of
 * that section instead.
 */
function resolvedField(field, place, known) {
  const items = field.items === undefined ? {} : { items: resolvedField(field.items, `${place}[]`, known) };
  const { allOf: [refers = field] = [], ...own } = { ...field, ...items };
  const name = refers.$ref?.split('/').at(-1);
  if (name === undefined) return own;
  const there = known.places.get(name);
  if (there !== undefined) return { ...own, type: 'object', as: there };
  known.places.set(name, place);
  return { ...known.definitions[name], ...own };
}

/** The object of a field (also of a list, a map or one of several kinds), with the notation of its place. */
function objectIn(field, place) {
  const object = [field, ...(field.anyOf ?? [])].find(({ properties }) => properties !== undefined);
  if (object !== undefined) return [object, place];
  if (field.items?.properties !== undefined) return [field.items, `${place}[]`];
  const { additionalProperties: values } = field;
  if (values !== false && values?.properties !== undefined) return [values, `${place}.<name>`];
  return [undefined, place];
}

function kindOf(field) {
  if (field.anyOf !== undefined) return field.anyOf.map(kindOf).join(', or ');
  if (field.enum !== undefined) return field.enum.map(code).join(', ');
  if (field.pattern?.includes('(ms|s|m|h|d)')) return 'duration';
  if (Array.isArray(field.type)) return field.type.map((type) => kindOf({ ...field, type })).join(', or ');
  switch (field.type) {
    case 'array':
      return listOf(field.items ?? {});
    case 'object':
      return kindOfObject(field);
    case 'string':
      return field.format === 'uuid' ? 'uuid' : field.format === 'uri' ? 'URL' : 'text';
    case 'integer':
    case 'number':
      return `${field.type === 'integer' ? 'whole number' : 'number'}${boundsOf(field)}`;
    case 'boolean':
      return `${code('true')}, ${code('false')}`;
    default:
      return 'anything';
  }
}

function listOf(items) {
  if (items.properties !== undefined || items.as !== undefined) return 'list of objects';
  return items.enum === undefined ? `list of ${kindOf(items)}s` : `list of ${kindOf(items)}`;
}

function kindOfObject({ properties, additionalProperties, propertyNames, as }) {
  if (properties !== undefined || as !== undefined) return 'object';
  const names = propertyNames?.enum === undefined ? 'name' : propertyNames.enum.map(code).join(', ');
  const isOfObjects = additionalProperties !== false && additionalProperties?.properties !== undefined;
  return isOfObjects ? `objects by ${names}` : 'object of your own';
}

/** The largest safe integer is zod's default, not a declared bound. */
function boundsOf({ minimum, maximum = Number.MAX_SAFE_INTEGER }) {
  if (minimum === undefined) return '';
  return maximum === Number.MAX_SAFE_INTEGER ? `, at least ${minimum}` : `, ${minimum} to ${maximum}`;
}

/** A default in words is part of the description. A default of several fields lists them. */
function defaultOf({ default: value, description = '' }) {
  const [, told] = DEFAULT_IN_WORDS.exec(description) ?? [];
  if (told !== undefined && told !== value) return `default: ${told}`;
  return value === undefined || typeof value === 'object'
    ? ''
    : `default: ${code(JSON.stringify(value).replaceAll('"', ''))}`;
}

function whatOf({ description = '', as, items }) {
  const there = as ?? items?.as;
  const fields = there === undefined ? '' : ` Its fields are those of ${code(there)}.`;
  return `${description.replace(DEFAULT_IN_WORDS, '').replace(/\.?$/u, '.')}${fields}`;
}

const DEFAULT_IN_WORDS = /\.? ?Default: (.+)$/u;

function code(text) {
  return `\`${text}\``;
}
