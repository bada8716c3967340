import { isUtf8 } from 'node:buffer';
import { readFile, readlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import { SlipwayError, type SlipwayErrorOptions } from '../domain/errors.ts';
import { requireFile } from './requireFile.ts';

/** The file's name. Slipway searches the working folder and the folders above it. */
export const CONFIG_FILE = 'slipway.yaml';

const NAMING = '--config FILE';

export interface FoundConfig {
  readonly file: string;
  readonly text: string;
}

/**
 * Finds and reads `slipway.yaml`: the file at `path`, or the one in `from` or the nearest folder above it.
 * @param naming - how the command line names a file, for hints.
 */
export async function findConfig(
  path: string | undefined,
  from: string,
  naming: string = NAMING,
): Promise<FoundConfig> {
  const hint = `write one with "slipway init", or name it: ${naming}`;
  if (path !== undefined) {
    const file = resolve(from, path);
    const text = await readConfigFile(file, naming);
    if (text !== undefined) return { file, text };
    throw notFound(`there is no file ${file}`, file, { hint });
  }
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const file = join(folder, CONFIG_FILE);
    const text = await readConfigFile(file, naming);
    if (text !== undefined) return { file, text };
    if (dirname(folder) === folder) break;
  }
  throw notFound(`found no ${CONFIG_FILE} in ${from} or above it`, from, { hint });
}

/**
 * The text of a configuration's file; `undefined` if there is none.
 * @throws SLIPWAY_CONFIG_NOT_FOUND if it cannot be read, SLIPWAY_CONFIG_INVALID if it is not text.
 */
export async function readConfigFile(file: string, naming: string = NAMING): Promise<string | undefined> {
  let bytes: Buffer;
  try {
    await requireFile(file);
    bytes = await readFile(file);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // A broken link is not skipped: the file of a folder above may release to another deployment.
    if ((code === 'ENOENT' || code === 'ENOTDIR') && !(await isLink(file))) return undefined;
    const why = REASONS[code ?? ''] ?? code ?? message;
    const hint = `correct that, or name another file: ${naming}`;
    throw notFound(`${file} could not be read: ${why}`, file, { hint, cause: error });
  }
  // A decoder removes a byte order mark.
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  throw new SlipwayError('SLIPWAY_CONFIG_INVALID', `${file} is not text in UTF-8`, {
    place: file,
    hint: `save it as UTF-8, or name another file: ${naming}`,
  });
}

function isLink(file: string): Promise<boolean> {
  return readlink(file).then(
    () => true,
    () => false,
  );
}

const REASONS: Readonly<Partial<Record<string, string>>> = {
  ENOENT: 'it is a broken symbolic link',
  ENOTDIR: 'it is a broken symbolic link',
  ELOOP: 'its symbolic links form a loop',
  EACCES: 'this user may not read it',
};

function notFound(message: string, place: string, options: SlipwayErrorOptions): SlipwayError {
  return new SlipwayError('SLIPWAY_CONFIG_NOT_FOUND', message, { place, ...options });
}
