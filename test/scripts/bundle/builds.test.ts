import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import { expect, it } from 'vitest';

import { useFolders } from '../../support/temporaryFolder.ts';

type Files = readonly { readonly name: string; readonly contents: Uint8Array }[];
const { writeBuild } = (await import(
  new URL('../../../scripts/build/bundle/builds.mjs', import.meta.url).href
)) as {
  readonly writeBuild: (
    folder: string,
    build: { readonly files: Files; readonly entries: readonly string[]; readonly keepEarlier: boolean },
  ) => void;
};

const folder = useFolders();

it('the entry names a complete build, without files of the previous build', async () => {
  write({ 'main.js': 'one', 'old-part.js': '' });
  write({ 'main.js': 'two', 'part.js': '2' });
  const build = await builtNow();
  expect((await readdir(build)).sort()).toEqual(['main.js', 'part.js']);
  expect(await readFile(join(build, 'main.js'), 'utf8')).toBe('two');
});

it('the previous build stays for processes that have not loaded all of it; older ones are removed', async () => {
  const builds = [];
  for (const text of ['one', 'two', 'three']) {
    write({ 'main.js': text });
    builds.push(await builtNow());
    // Makes it look older.
    await age(await builtNow(), 60 * (4 - builds.length));
  }
  const [one, two, three] = builds as [string, string, string];
  await expect(stat(one)).rejects.toMatchObject({ code: 'ENOENT' });
  expect(await readFile(join(two, 'main.js'), 'utf8')).toBe('two');
  expect(await readFile(join(three, 'main.js'), 'utf8')).toBe('three');
});

it('the entry of a CommonJS build can be required', () => {
  writeBuild(folder(), {
    files: [{ name: 'main.cjs', contents: Buffer.from("module.exports = 'made';") }],
    entries: ['main.cjs'],
    keepEarlier: false,
  });
  expect(createRequire(import.meta.url)(join(folder(), 'main.cjs'))).toBe('made');
});

it('a build for publishing keeps no earlier one', async () => {
  write({ 'main.js': 'one' });
  write({ 'main.js': 'two' }, false);
  expect((await readdir(folder())).length).toBe(2);
});

it('a build with the digest of an earlier one becomes the newest again', async () => {
  write({ 'main.js': 'one' });
  const one = await builtNow();
  await age(one, 120);
  write({ 'main.js': 'two' });
  await age(await builtNow(), 60);
  write({ 'main.js': 'one' });
  expect(await builtNow()).toBe(one);
  write({ 'main.js': 'three' });
  expect(await readFile(join(one, 'main.js'), 'utf8')).toBe('one');
});

it('the files of an interrupted build do not count as a build', async () => {
  await mkdir(join(folder(), 'unfinished'));
  await writeFile(join(folder(), 'unfinished/part.js'), 'half of');
  write({ 'main.js': 'one' });
  expect(await readdir(await builtNow())).toEqual(['main.js']);
  expect(await readdir(folder())).not.toContain('unfinished');
});

function write(contents: Readonly<Record<string, string>>, keepEarlier = true): void {
  const files = Object.entries(contents).map(([name, text]) => ({ name, contents: Buffer.from(text) }));
  writeBuild(folder(), { files, entries: ['main.js'], keepEarlier });
}

async function builtNow(): Promise<string> {
  const named = /^export \* from '(.*)';\n$/.exec(await readFile(join(folder(), 'main.js'), 'utf8'))?.[1];
  return join(folder(), dirname(named ?? 'none'));
}

async function age(path: string, seconds: number): Promise<void> {
  const then = new Date(Date.now() - 1_000 * seconds);
  await utimes(path, then, then);
}
