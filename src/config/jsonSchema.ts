import { z } from 'zod';

import { isRecord } from '../domain/scalars.ts';
import { Config } from './configSchema.ts';

const TITLE = { title: 'slipway.yaml', description: 'How an agent is released by Slipway' };

/** The JSON Schema of a whole `slipway.yaml`: of one file, or of what several say together. */
export function configJsonSchema(): object {
  return { ...z.toJSONSchema(Config, { io: 'input', target: 'draft-7' }), ...TITLE };
}

/** The JSON Schema of one file, for editors. In a file that extends others, nothing is required. */
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

/** A schema with nothing required, at any depth. A field may be called `required`, too. */
function withoutRequired(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutRequired);
  if (!isRecord(schema)) return schema;
  const kept = Object.entries(schema).filter(([name, value]) => name !== 'required' || !Array.isArray(value));
  return Object.fromEntries(kept.map(([name, value]) => [name, withoutRequired(value)]));
}
