import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';

import { SlipwayError } from '../../../domain/errors.ts';
import { type Input, inputsOfFile } from '../../../judge/inputs.ts';

/**
 * The inputs of a file, one at a time.
 *
 * @param name - as problems name it.
 * @throws SLIPWAY_JUDGE_INPUTS_INVALID where there is no such file; later, with the line, where one is not right.
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
