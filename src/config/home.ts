import { existsSync } from 'node:fs';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

import { SlipwayError } from '../domain/errors.ts';
import { CONFIG_FILE } from './findConfig.ts';

/**
 * The absolute path of Slipway's state on this machine: `SLIPWAY_HOME`, or `.slipway` beside the `slipway.yaml` of a folder or
 * of one above it, or `.slipway` in that folder. It need not exist.
 * @param from - that folder. Default: the working folder.
 */
export function slipwayHome(
  environment: Readonly<Record<string, string | undefined>>,
  from: string = process.cwd(),
): string {
  const configured = environment['SLIPWAY_HOME'];
  if (configured !== undefined && configured !== '') return resolve(configured);
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    if (existsSync(join(folder, CONFIG_FILE))) return join(folder, DEFAULT_NAME);
    if (dirname(folder) === folder) return resolve(from, DEFAULT_NAME);
  }
}

const DEFAULT_NAME = '.slipway';

/**
 * Creates the home. Adds a `.gitignore` to `.slipway`, because git must not track the keys in it. A folder of another name
 * gets none.
 * @throws SlipwayError SLIPWAY_USAGE if it cannot be written.
 */
export async function makeHome(home: string): Promise<void> {
  try {
    await makeFolder(home);
    if (basename(home) === DEFAULT_NAME) await hideFromGit(home);
  } catch (error) {
    const why = (error as Error).message;
    const what = `the folder for Slipway’s state cannot be written: ${why}`;
    const hint = 'choose another one with --home or SLIPWAY_HOME';
    throw new SlipwayError('SLIPWAY_USAGE', what, { place: home, hint, cause: error });
  }
}

/**
 * Creates a folder that only its owner can read, and those above it. Node's recursive `mkdir` never ends in a file system
 * that answers ENOENT below an existing folder, such as `/proc`, and its thread prevents the process from exiting.
 */
async function makeFolder(folder: string, isRetry = dirname(folder) === folder): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && !isRetry) {
      await makeFolder(dirname(folder));
      await makeFolder(folder, true);
    } else if (code !== 'EEXIST' || !(await stat(folder)).isDirectory()) throw error;
  }
}

async function hideFromGit(home: string): Promise<void> {
  const file = join(home, '.gitignore');
  const found = await stat(file).catch(() => undefined);
  // An empty one is what a full disk left of it.
  if (found === undefined || (found.isFile() && found.size === 0)) await writeFile(file, '*\n');
}
