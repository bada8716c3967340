import { writeFile } from 'node:fs/promises';

import { systemReason } from '../artifact/sourceFiles.ts';
import { SlipwayError } from '../domain/errors.ts';

/**
 * Writes a report to the file that an option names.
 * @param option - `--junit`
 * @throws SlipwayError SLIPWAY_USAGE if it cannot be written.
 */
export async function writeReport(option: string, file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (error) {
    throw new SlipwayError('SLIPWAY_USAGE', `the report could not be written: ${systemReason(error)}`, {
      place: file,
      hint: `name another file with ${option}`,
      cause: error,
    });
  }
}
