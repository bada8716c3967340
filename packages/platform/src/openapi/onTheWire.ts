import { z } from 'zod';
import type { ZodOpenApiOverride } from 'zod-openapi';

/**
 * An answer is described as it goes over the wire: where a client's schema reads a value and then turns it into another
 * one, the document shows what is read.
 */
export const asOnTheWire: ZodOpenApiOverride = ({ zodSchema, jsonSchema, io }) => {
  const { def } = zodSchema._zod;
  if (io !== 'output' || def.type !== 'pipe' || def.out._zod.def.type !== 'transform') return;
  const read = z.toJSONSchema(def.in, { io: 'input' });
  for (const name of Object.keys(jsonSchema)) Reflect.deleteProperty(jsonSchema, name);
  const { $schema: _, ...schema } = read;
  Object.assign(jsonSchema, schema);
};
