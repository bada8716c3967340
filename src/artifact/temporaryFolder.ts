import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface TemporaryFolder {
  readonly path: string;
  readonly remove: () => Promise<void>;
}

const ALL = { recursive: true, force: true } as const;
const left = new Set<string>();

// A command exits at once if the reader of its output is gone, or at a second Ctrl-C.
process.on('exit', () => left.forEach((path) => rmSync(path, ALL)));

/**
 * Makes a temporary folder. If it has not been removed when the process exits, it is removed then.
 * @param above - where to make it. Default: the system's folder for temporary files.
 */
export async function makeTemporaryFolder(prefix: string, above = tmpdir()): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(above, prefix));
  left.add(path);
  const remove = async (): Promise<void> => {
    await rm(path, ALL);
    left.delete(path);
  };
  return { path, remove };
}
