import { readFile, writeFile } from 'node:fs/promises';

import { systemReason } from '../artifact/sourceFiles.ts';
import { requireFile } from '../config/requireFile.ts';
import { SlipwayError } from '../domain/errors.ts';

/**
 * Reads a file that an argument or an option names.
 * @param what - the file, for the error: `the payload`.
 * @throws SlipwayError SLIPWAY_USAGE if it cannot be read.
 */
export async function readNamed(file: string, what: string, hint: string): Promise<Buffer> {
  try {
    await requireFile(file);
    return await readFile(file);
  } catch (cause) {
    const message = `${what} could not be read: ${systemReason(cause)}`;
    throw new SlipwayError('SLIPWAY_USAGE', message, { place: file, hint, cause });
  }
}

/**
 * Writes a report to the file that an option names.
 * @param option - `--junit`
 * @param flag - `a` with an empty text only checks that the file can be written, and keeps what it has.
 * @throws SlipwayError SLIPWAY_USAGE if it cannot be written.
 */
export async function writeReport(option: string, file: string, text: string, flag = 'w'): Promise<void> {
  try {
    await writeFile(file, text, { flag });
  } catch (cause) {
    const what = `the report could not be written: ${systemReason(cause)}`;
    const hint = `name another file with ${option}`;
    throw new SlipwayError('SLIPWAY_USAGE', what, { place: file, hint, cause });
  }
}
