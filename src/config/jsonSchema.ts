import { z } from 'zod';

import { Config } from './configSchema.ts';

/** The JSON Schema of a whole `slipway.yaml`: one file, or several merged. */
export function configJsonSchema(): object {
  return {
    ...z.toJSONSchema(Config, { io: 'input', target: 'draft-7' }),
    title: 'slipway.yaml',
    description: 'How an agent is released by Slipway',
  };
}
