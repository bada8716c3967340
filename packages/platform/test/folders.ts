import { mkdtempSync, realpathSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll } from 'vitest';

/** A new folder for all tests of a file, removed after them. */
export function useFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'slipway-test-')));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
