import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import { SlipwayError, type SlipwayErrorOptions } from '../domain/errors.ts';

/** The file's name. Slipway searches the working folder and the folders above it. */
export const CONFIG_FILE = 'slipway.yaml';

/** A `slipway.yaml` as text, not parsed. */
export interface FoundConfig {
  /** The file's absolute path. */
  readonly file: string;
  readonly text: string;
}

/**
 * Finds and reads `slipway.yaml`: the file at `path`, or the one in `from` or the nearest folder above it.
 * @throws SLIPWAY_CONFIG_NOT_FOUND.
 */
export async function findConfig(path: string | undefined, from: string): Promise<FoundConfig> {
  if (path !== undefined) {
    const file = resolve(from, path);
    const text = await readIfThere(file);
    if (text !== undefined) return { file, text };
    throw notFound(`there is no file ${file}`, file);
  }
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const file = join(folder, CONFIG_FILE);
    const text = await readIfThere(file);
    if (text !== undefined) return { file, text };
    if (dirname(folder) === folder) break;
  }
  const hint = 'write one with "slipway init", or name it with --config';
  throw notFound(`found no ${CONFIG_FILE} in ${from} or above it`, from, { hint });
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    const why = code === 'EISDIR' ? 'it is a folder' : String(code);
    throw notFound(`${file} could not be read: ${why}`, file, { cause: error });
  }
}

function notFound(message: string, place: string, options: SlipwayErrorOptions = {}): SlipwayError {
  return new SlipwayError('SLIPWAY_CONFIG_NOT_FOUND', message, { place, ...options });
}
