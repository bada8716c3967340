import { rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { useFolders, writeFiles } from '../support/temporaryFolder.ts';

interface Freshness {
  readonly whyInstall: (root: string) => string | undefined;
  readonly whyBuild: (root: string) => string | undefined;
}
const { whyInstall, whyBuild } = (await import(
  new URL('../../scripts/build/freshness.mjs', import.meta.url).href
)) as Freshness;

const root = useFolders();

describe('dependencies', () => {
  const LOCKED = {
    '': { version: '0.1.0' },
    'node_modules/a': { version: '1.0.0' },
    'node_modules/elsewhere': { version: '1.0.0', optional: true },
  };

  it('are installed if there are none', async () => {
    await lock('package-lock.json', LOCKED);
    expect(whyInstall(root())).toBe('node_modules is missing');
  });

  it('are unchanged if they match the lock file, with any file times; optional ones may be missing', async () => {
    await lock('node_modules/.package-lock.json', { 'node_modules/a': { version: '1.0.0' } });
    await lock('package-lock.json', LOCKED);
    expect(whyInstall(root())).toBeUndefined();
  });

  it('are installed if one is missing or has another version', async () => {
    await lock('package-lock.json', LOCKED);
    await lock('node_modules/.package-lock.json', { 'node_modules/a': { version: '1.0.1' } });
    expect(whyInstall(root())).toBe('node_modules/a is not the locked 1.0.0');
    await lock('node_modules/.package-lock.json', {});
    expect(whyInstall(root())).toBe('node_modules/a is not the locked 1.0.0');
  });

  async function lock(name: string, packages: object): Promise<void> {
    await writeFiles(root(), { [name]: JSON.stringify({ packages }) });
  }
});

describe('the build', () => {
  const YESTERDAY = new Date(Date.now() - 86_400_000);
  const INPUTS = [
    'src/worker.ts',
    'src/cli/main.ts',
    'packages/contract/src/limits.ts',
    'packages/contract/package.json',
    'packages/platform/src/index.ts',
    'packages/platform/package.json',
    'tsconfig.json',
    'tsconfig.build.json',
    'package-lock.json',
    'scripts/build.mjs',
    'scripts/build/freshness.mjs',
  ];

  beforeEach(async () => {
    await writeFiles(root(), Object.fromEntries(INPUTS.map((name) => [name, ''])));
    for (const name of [...INPUTS, 'src', 'src/cli', 'scripts/build']) {
      await utimes(join(root(), name), YESTERDAY, YESTERDAY);
    }
  });

  it('is made if there is none', () => {
    expect(whyBuild(root())).toBe('there is no finished build');
  });

  it('is kept if nothing has changed', async () => {
    await writeFiles(root(), { 'dist/.built': '' });
    expect(whyBuild(root())).toBeUndefined();
  });

  it('is repeated if a source has changed', async () => {
    await writeFiles(root(), { 'dist/.built': '' });
    const later = new Date(Date.now() + 60_000);
    await utimes(join(root(), 'src/cli/main.ts'), later, later);
    expect(whyBuild(root())).toBe('src/cli/main.ts changed');
  });

  it('is repeated if a source was removed', async () => {
    await writeFiles(root(), { 'dist/.built': '' });
    const earlier = new Date(Date.now() - 60_000);
    await utimes(join(root(), 'dist/.built'), earlier, earlier);
    await rm(join(root(), 'src/cli/main.ts'));
    expect(whyBuild(root())).toBe('src/cli changed');
  });
});
