import { z } from 'zod';

import { Config } from './configSchema.ts';
import { DURATION_PATTERN } from './fields.ts';

const TITLE = { title: 'slipway.yaml', description: 'How an agent is released by Slipway' };

/** The JSON Schema of a whole `slipway.yaml`: of one file, or of what several say together. */
export function configJsonSchema(): object {
  return { ...z.toJSONSchema(Config, { io: 'input', target: 'draft-7' }), ...TITLE };
}

/**
 * The JSON Schema of one file, for editors; published as `docs/slipway.schema.json`. In a file that extends others,
 * nothing is required: they may say it.
 */
export function publishedJsonSchema(): object {
  const { $schema, ...whole } = z.toJSONSchema(Config, { io: 'input', target: 'draft-7' });
  return {
    $schema,
    ...TITLE,
    definitions: { whole, part: withoutRequired(whole) },
    if: { type: 'object', required: ['extends'] },
    then: { $ref: '#/definitions/part' },
    else: { $ref: '#/definitions/whole' },
  };
}

/** A schema with nothing required, at any depth. */
function withoutRequired(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutRequired);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      // A field may be called so, too.
      .filter(([name, value]) => name !== 'required' || !Array.isArray(value))
      .map(([name, value]) => [name, withoutRequired(value)]),
  );
}

/** What of a JSON Schema the page reads: what {@link configJsonSchema} is made of. */
interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly propertyNames?: Schema;
  readonly additionalProperties?: Schema | false;
}

const INTRODUCTION = `# \`slipway.yaml\`

One file in the root of an agent's repository. \`npm run build\` makes this page from the schema that the file is checked
against. Editors read the same schema as \`docs/slipway.schema.json\`. \`slipway lint\` lists what is wrong in a file, with line
and column, and what has no effect. A field that is not on this page is refused.

Durations are written as \`250ms\`, \`30s\`, \`5m\`, \`1h30m\`, \`2d\`: 30 days at most. The file contains no secrets. It says where
they come from on the worker's machine: \`env:NAME\` or \`file:/absolute/path\`.

## Parts that files share

\`\`\`yaml
extends: ../shared/agents.yaml # or a list: later files override earlier ones
targets:
  staging:
    deployment: greeter # the other file has the rest of staging
    freezes: null # none, whatever the other file says
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
is refused, because what the file says gets into histories. Within braces or brackets, quote a text with a variable. A whole
value without quotes becomes a number, \`true\` or \`false\` if it reads as one. All other dollar signs are left alone.
`;

/**
 * The reference of `slipway.yaml` as Markdown, published as `docs/slipway-yaml.md`: a section per object, a list item
 * per field.
 *
 * @param schema - the file's JSON Schema, see `configJsonSchema`.
 */
export function configReferencePage(schema: object): string {
  return [INTRODUCTION, ...sectionsOf('', schema)].join('\n');
}

/** The section of an object, and of those in it. */
function sectionsOf(place: string, schema: Schema): string[] {
  const fields = Object.entries(schema.properties ?? {});
  const items = fields.map(([name, field]) => {
    const facts = [kindOf(field), schema.required?.includes(name) === true ? 'required' : defaultOf(field)];
    return `- ${code(name)} (${facts.filter((fact) => fact !== '').join('; ')}):\n  ${whatOf(field)}`;
  });
  const heading = place === '' ? '## The file' : `## \`${place}\``;
  const inner = fields.flatMap(([name, field]) => {
    const below = place === '' ? name : `${place}.${name}`;
    const [object, at] = objectIn(field, below);
    return object === undefined ? [] : sectionsOf(at, object);
  });
  return [`${heading}\n\n${items.join('\n')}\n`, ...inner];
}

/** The object that a field is, or is a list or a map of, with how its place is written. */
function objectIn(field: Schema, place: string): [Schema | undefined, string] {
  if (field.properties !== undefined) return [field, place];
  if (field.items?.properties !== undefined) return [field.items, `${place}[]`];
  const { additionalProperties: values } = field;
  if (values !== false && values?.properties !== undefined) return [values, `${place}.<name>`];
  return [undefined, place];
}

function kindOf(field: Schema): string {
  if (field.anyOf !== undefined) return field.anyOf.map(kindOf).join(', or ');
  if (field.enum !== undefined) return field.enum.map(code).join(', ');
  if (field.pattern === DURATION_PATTERN) return 'duration';
  switch (field.type) {
    case 'array':
      return `list of ${field.items?.properties === undefined ? `${kindOf(field.items ?? {})}s` : 'objects'}`;
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

function kindOfObject({ properties, additionalProperties, propertyNames }: Schema): string {
  if (properties !== undefined) return 'object';
  const names = propertyNames?.enum === undefined ? 'name' : propertyNames.enum.map(code).join(', ');
  const isOfObjects = additionalProperties !== false && additionalProperties?.properties !== undefined;
  return isOfObjects ? `objects by ${names}` : 'object of your own';
}

/** The largest safe integer is no bound that anybody set. */
function boundsOf({ minimum, maximum = Number.MAX_SAFE_INTEGER }: Schema): string {
  if (minimum === undefined) return '';
  return maximum === Number.MAX_SAFE_INTEGER ? `, at least ${minimum}` : `, ${minimum} to ${maximum}`;
}

/** A default that the schema states in words is in its description. A default of several fields lists them. */
function defaultOf({ default: value, description = '' }: Schema): string {
  const [, told] = DEFAULT_IN_WORDS.exec(description) ?? [];
  if (told !== undefined && told !== value) return `default: ${told}`;
  return value === undefined || typeof value === 'object'
    ? ''
    : `default: ${code(JSON.stringify(value).replaceAll('"', ''))}`;
}

function whatOf({ description = '' }: Schema): string {
  return description.replace(DEFAULT_IN_WORDS, '').replace(/\.?$/u, '.');
}

const DEFAULT_IN_WORDS = /\.? ?Default: (.+)$/u;

function code(text: string): string {
  return `\`${text}\``;
}
