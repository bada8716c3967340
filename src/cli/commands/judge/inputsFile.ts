import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';

import { SlipwayError } from '../../../domain/errors.ts';
import { type Input, inputsOfFile } from '../../../judge/inputs.ts';

/**
 * The inputs of a file, one at a time.
 *
 * @param name - the file's name in errors.
 * @throws SLIPWAY_JUDGE_INPUTS_INVALID if the file is missing; while iterating, with the line, if an input is invalid.
 */
export async function openInputs(file: string, name = file): Promise<AsyncIterable<Input>> {
  try {
    await access(file);
  } catch (cause) {
    throw new SlipwayError('SLIPWAY_JUDGE_INPUTS_INVALID', `the file of inputs cannot be read: ${name}`, {
      place: name,
      cause,
    });
  }
  return inputsOfFile(createReadStream(file), name);
}
