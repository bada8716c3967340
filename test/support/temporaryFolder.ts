import { mkdtempSync, realpathSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll } from 'vitest';

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

/** Makes a temporary folder for all tests of a file or a `describe`. It is removed after their `afterAll`. */
export function useFolder(): string {
  const folder = realpathSync(mkdtempSync(BEGINNING));
  afterAll(() => rm(folder, REMOVAL));
  return folder;
}
