import { spawn } from 'node:child_process';
import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, it, vi } from 'vitest';

import { type HomeLayout, homeLayout, removeTree, withScratch } from '../../src/controlPlane/homeLayout.ts';
import { temporaryFolder } from '../../../../test/support/temporaryFolder.ts';

async function someHome(): Promise<HomeLayout> {
  return homeLayout(await temporaryFolder());
}

/** Starts to write files under a folder, one after another, up to 2,000 or until it fails. */
async function beginWriting(folder: string): Promise<void> {
  spawn('/bin/sh', ['-c', 'i=0; while [ $i -lt 2000 ] && : > "written-$i"; do i=$((i+1)); done'], {
    cwd: folder,
    stdio: 'ignore',
  });
  await vi.waitFor(async () => expect((await readdir(folder)).length).toBeGreaterThan(0), 10_000);
}

it('work has a private folder, also two works of one name, and it is removed', async () => {
  const home = await someHome();
  const folders = await Promise.all(
    [1, 2].map(() =>
      withScratch(home, 'build', async (scratch) => {
        await writeFile(join(scratch, 'left'), '');
        expect((await stat(scratch)).mode & 0o777).toBe(0o700);
        return scratch;
      }),
    ),
  );
  expect(new Set(folders).size).toBe(2);
  await expect(withScratch(home, 'build', () => Promise.reject(new Error('the work fails')))).rejects.toThrow(
    'the work fails',
  );
  expect(await readdir(home.scratches)).toEqual([]);
});

it('a command that still writes after the work has ended does not prevent the removal of its folder', async () => {
  const home = await someHome();
  await withScratch(home, 'build', beginWriting);
  expect(await readdir(home.scratches)).toEqual([]);
});

it('a command of an earlier process that still writes does not prevent a platform from starting', async () => {
  const home = await someHome();
  await withScratch(home, 'build', async (scratch) => {
    await beginWriting(scratch);
    await removeTree(home.scratches);
    await expect(stat(home.scratches)).rejects.toThrow('ENOENT');
  });
});
