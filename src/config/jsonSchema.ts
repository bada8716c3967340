import { z } from 'zod';

import { isRecord } from '../domain/scalars.ts';
import { Config } from './configSchema.ts';

const TITLE = { title: 'slipway.yaml', description: 'How an agent is released by Slipway' };

/** The JSON Schema of a whole `slipway.yaml`: one file, or several merged. */
export function configJsonSchema(): object {
  return { ...z.toJSONSchema(Config, { io: 'input', target: 'draft-7' }), ...TITLE };
}

/** The JSON Schema of one file, for editors. A file that extends others has no required fields. */
export function publishedJsonSchema(): object {
  const { $schema, definitions, ...whole } = z.toJSONSchema(Config, { io: 'input', target: 'draft-7' });
  const shared = isRecord(definitions) ? definitions : {};
  const parts = Object.fromEntries(
    Object.entries(shared).map(([name, definition]) => [partName(name), withoutRequired(definition)]),
  );
  return {
    $schema,
    ...TITLE,
    definitions: { whole, part: withoutRequired(whole), ...shared, ...parts },
    if: { type: 'object', required: ['extends'] },
    then: { $ref: '#/definitions/part' },
    else: { $ref: '#/definitions/whole' },
  };
}

function partName(name: string): string {
  return `part-${name}`;
}

function withoutRequired(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutRequired);
  if (!isRecord(schema)) return schema;
  const kept = Object.entries(schema).filter(([name, value]) => name !== 'required' || !Array.isArray(value));
  return Object.fromEntries(
    kept.map(([name, value]) => [
      name,
      name === '$ref' && typeof value === 'string'
        ? value.replace(/[^/]+$/u, partName)
        : withoutRequired(value),
    ]),
  );
}
