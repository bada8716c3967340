import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';

/**
 * The folder that holds Slipway's state on this machine: `SLIPWAY_HOME`, or `.slipway` in the working folder.
 *
 * @returns an absolute path. The folder need not exist.
 */
export function slipwayHome(environment: Readonly<Record<string, string | undefined>> = process.env): string {
  const configured = environment['SLIPWAY_HOME'];
  return resolve(configured === undefined || configured === '' ? DEFAULT_NAME : configured);
}

const DEFAULT_NAME = '.slipway';

/**
 * Makes the home where it is missing. One that is named `.slipway` stands in the middle of a repository and holds keys:
 * git is told to leave it out. A folder with another name may be somebody's own repository, and is left alone.
 */
export async function makeHome(home: string): Promise<void> {
  await mkdir(home, { recursive: true, mode: 0o700 });
  if (basename(home) !== DEFAULT_NAME) return;
  try {
    await writeFile(join(home, '.gitignore'), '*\n', { flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
