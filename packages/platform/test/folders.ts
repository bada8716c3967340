import { mkdtempSync, realpathSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeEach } from 'vitest';

/** A new folder for all tests of a file, removed after them. */
export function useFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'slipway-test-')));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A new folder for each test of a file, removed after it. */
export function useFreshFolder(take: (folder: string) => void): void {
  let folder: string;
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'slipway-test-')));
    take(folder);
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
}
