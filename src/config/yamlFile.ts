import { readFileSync } from 'node:fs';

import { parse } from 'yaml';
import { z } from 'zod';

import { SlipwayError } from '../domain/errors.ts';

/**
 * Reads a YAML file that a variable names.
 * @param called - what errors call it: `the file of roles`.
 * @throws SLIPWAY_CONFIG_INVALID if it cannot be read, or is not as the schema says.
 */
export function readYamlFile<T>(path: string, schema: z.ZodType<T>, called: string, hint: string): T {
  try {
    return schema.parse(parse(readFileSync(path, 'utf8')));
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : (error as Error).message;
    const what = `${called} cannot be used: ${why}`;
    throw new SlipwayError('SLIPWAY_CONFIG_INVALID', what, { place: path, hint, cause: error });
  }
}
