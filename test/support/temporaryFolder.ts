import { mkdtempSync, realpathSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';

import { afterAll, beforeEach } from 'vitest';

import { afterTest } from './afterTest.ts';

const BEGINNING = join(tmpdir(), 'slipway-test-');
/** Processes of a test that are being ended may still write. */
const REMOVAL = { recursive: true, force: true, maxRetries: 5, retryDelay: 100 } as const;

/** Makes a temporary folder, in a test or before each. It is removed after the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(BEGINNING));
  afterTest(() => rm(folder, REMOVAL));
  return folder;
}

/** Makes a temporary folder before each test. It is removed after the test. */
export function useFolders(): () => string {
  let folder = '';
  beforeEach(async () => {
    folder = await temporaryFolder();
  });
  return () => folder;
}

/** Makes a temporary folder for all tests of a file or a `describe`. It is removed after their `afterAll`. */
export function useFolder(): string {
  const folder = realpathSync(mkdtempSync(BEGINNING));
  afterAll(() => rm(folder, REMOVAL));
  return folder;
}

export async function writeFiles(
  folder: string,
  files: Readonly<Record<string, string | Buffer>>,
): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

/** Writes a program that this user can run. */
export async function writeExecutable(path: string, content: string): Promise<void> {
  await writeFiles(dirname(path), { [basename(path)]: content });
  await chmod(path, 0o755);
}
