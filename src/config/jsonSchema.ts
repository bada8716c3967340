import { z } from 'zod';

import { Config } from './configSchema.ts';

/** The JSON Schema of `slipway.yaml`, for editors; published as `docs/slipway.schema.json`. */
export function configJsonSchema(): object {
  const schema = z.toJSONSchema(Config, { io: 'input', target: 'draft-7' });
  return { ...schema, title: 'slipway.yaml', description: 'How an agent is released by Slipway' };
}
