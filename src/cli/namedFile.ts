import { writeFile } from 'node:fs/promises';

import { systemReason } from '../artifact/sourceFiles.ts';
import { SlipwayError } from '../domain/errors.ts';

/**
 * Writes a report to the file that an option names.
 * @param option - `--junit`
 * @param flag - `a` with an empty text only checks that the file can be written, and keeps what it has.
 * @throws SlipwayError SLIPWAY_USAGE if it cannot be written.
 */
export async function writeReport(option: string, file: string, text: string, flag = 'w'): Promise<void> {
  try {
    await writeFile(file, text, { flag });
  } catch (error) {
    const what = `the report could not be written: ${systemReason(error)}`;
    const hint = `name another file with ${option}`;
    throw new SlipwayError('SLIPWAY_USAGE', what, { place: file, hint, cause: error });
  }
}
