import { readFileSync } from 'node:fs';

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

type Json = Record<string, unknown>;
interface Operation {
  readonly requestBody?: { content: { 'application/json': { schema: Json } } };
  readonly responses: Record<string, { content?: { 'application/json'?: { schema?: Json } } }>;
}

const DOCUMENT = JSON.parse(
  readFileSync(new URL('./fixtures/publicRelative.openapi.json', import.meta.url), 'utf8'),
) as { paths: Record<string, Record<string, Operation>>; components: { schemas: Record<string, Json> } };

/** The problems of a request by the public document; unlike it, unknown fields are problems too. */
export function publicRequestProblems(method: string, path: string, body: unknown): string[] {
  const operation = operationOf(method, path);
  if (operation === undefined) return [`${method} ${path} is not in the document`];
  const schema = operation.requestBody?.content['application/json'].schema;
  if (schema === undefined) return body === undefined ? [] : [`${method} ${path} takes no body`];
  return problems(STRICT, schema, body);
}

export function publicAnswerProblems(method: string, path: string, status: number, body: unknown): string[] {
  const answer = operationOf(method, path)?.responses[String(status)];
  if (answer === undefined) return [`${method} ${path} answers no ${status} in the document`];
  const schema = answer.content?.['application/json']?.schema;
  return schema === undefined ? [] : problems(LOOSE, schema, body);
}

function operationOf(method: string, path: string): Operation | undefined {
  const found = Object.keys(DOCUMENT.paths).find((template) =>
    new RegExp(`^${template.replaceAll(/\{\w+\}/gu, '[^/]+')}$`, 'u').test(path),
  );
  return found === undefined ? undefined : DOCUMENT.paths[found]?.[method.toLowerCase()];
}

const LOOSE = validators(DOCUMENT.components.schemas);
const STRICT = validators(
  Object.fromEntries(
    Object.entries(DOCUMENT.components.schemas).map(([name, schema]) => [
      name,
      'properties' in schema ? { additionalProperties: false, ...schema } : schema,
    ]),
  ),
);

function validators(schemas: Record<string, Json>): (schema: Json) => ValidateFunction {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'document', components: { schemas } });
  const compiled = new Map<string, ValidateFunction>();
  return (schema) => {
    const text = JSON.stringify(schema).replaceAll('"#/components', '"document#/components');
    const known = compiled.get(text) ?? ajv.compile(JSON.parse(text) as Json);
    compiled.set(text, known);
    return known;
  };
}

function problems(of: (schema: Json) => ValidateFunction, schema: Json, value: unknown): string[] {
  const validate = of(schema);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message ?? ''} ${JSON.stringify(params)}`,
  );
}
