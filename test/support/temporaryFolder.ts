import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { onTestFinished } from 'vitest';

/** Makes a temporary folder, in a test or before each. It is removed after the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
