import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { constants, copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { FROM_SOURCE } from './fromSource.ts';

const MODULES = new URL('../../node_modules/', import.meta.url);
const STORES = ['store/', 'agentServer/store/'].map(
  (room) => new URL(`../../packages/platform/src/${room}`, import.meta.url),
);
const PACKAGES = ['@electric-sql/pglite', '@langchain/langgraph-checkpoint-postgres'];
/** Runs in its own process, because a worker thread would not use vitest's module loader. */
const MAKE = fileURLToPath(new URL('makeCluster.ts', import.meta.url));

/**
 * Copies an embedded database with the platform's and the agents' tables, all empty, into a home that has none (of a
 * standalone agent: its folder `agent`). A copy is faster than creating one, which takes seconds.
 */
export async function prepareHome(home: string): Promise<void> {
  copyCluster(await preparedCluster(), join(home, 'postgres'));
}

/** Template databases: 600 of the 1,000 files. They are not used, so they stay empty. */
const TEMPLATE_DATABASES = new Set([join('base', '1'), join('base', '4')]);

/** Copies file by file: `cp` checks so much per file that it takes as long as opening the database. */
function copyCluster(from: string, to: string): void {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    const folder = relative(from, entry.parentPath);
    const path = join(folder, entry.name);
    if (entry.isDirectory()) mkdirSync(join(to, path), { mode: 0o700 });
    else if (!TEMPLATE_DATABASES.has(folder))
      copyFileSync(join(from, path), join(to, path), constants.COPYFILE_FICLONE);
  }
}

/** Created once per engine and set of tables, and kept in `node_modules`. */
async function preparedCluster(): Promise<string> {
  const folder = fileURLToPath(new URL(`.cache/slipway-test/cluster-${await fingerprint()}`, MODULES));
  if (!existsSync(folder)) await makeCluster(folder);
  return folder;
}

/** A fingerprint of the code that creates the database. */
async function fingerprint(): Promise<string> {
  const hash = createHash('sha256');
  for (const name of PACKAGES) hash.update(await readFile(new URL(`${name}/package.json`, MODULES)));
  for (const store of STORES) {
    const files = (await readdir(store, { recursive: true })).filter((file) => file.endsWith('.ts'));
    for (const file of files.sort()) hash.update(file).update(await readFile(new URL(file, store)));
  }
  return hash.digest('hex').slice(0, 16);
}

/** Moves it into place only once it is complete. If two processes create one at the same time, the first one stays. */
async function makeCluster(folder: string): Promise<void> {
  await mkdir(dirname(folder), { recursive: true });
  const home = await mkdtemp(`${folder}.`);
  try {
    await promisify(execFile)(process.execPath, [...FROM_SOURCE, MAKE, home]);
    await rename(join(home, 'postgres'), folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}
