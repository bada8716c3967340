import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import { SlipwayError } from '../domain/errors.ts';

/** The file's name, looked for in the working folder and the folders above it. */
export const CONFIG_FILE = 'slipway.yaml';

/** A `slipway.yaml` as it stands: nothing has been made of it. */
export interface FoundConfig {
  /** The file's absolute path. */
  readonly file: string;
  readonly text: string;
}

/**
 * Finds and reads `slipway.yaml`: the file at `path`, or the one in `from` or the nearest folder above it.
 * @throws SLIPWAY_CONFIG_NOT_FOUND.
 */
export function findConfig(path: string | undefined, from: string): Promise<FoundConfig> {
  return path === undefined ? findAbove(from) : readNamed(resolve(from, path));
}

async function findAbove(from: string): Promise<FoundConfig> {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const file = join(folder, CONFIG_FILE);
    const text = await readIfThere(file);
    if (text !== undefined) return { file, text };
    if (dirname(folder) === folder) break;
  }
  throw new SlipwayError('SLIPWAY_CONFIG_NOT_FOUND', `found no ${CONFIG_FILE} in ${from} or above it`, {
    place: from,
    hint: 'write one with "slipway init", or name it with --config',
  });
}

async function readNamed(file: string): Promise<FoundConfig> {
  const text = await readIfThere(file);
  if (text !== undefined) return { file, text };
  throw new SlipwayError('SLIPWAY_CONFIG_NOT_FOUND', `there is no file ${file}`, { place: file });
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    const why = code === 'EISDIR' ? 'it is a folder' : String(code);
    throw new SlipwayError('SLIPWAY_CONFIG_NOT_FOUND', `${file} could not be read: ${why}`, {
      place: file,
      cause: error,
    });
  }
}
