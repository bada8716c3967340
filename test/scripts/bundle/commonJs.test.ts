import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { expect, it } from 'vitest';

import { temporaryFolder, writeFiles } from '../../support/temporaryFolder.ts';

interface File {
  readonly name: string;
  readonly contents: Uint8Array;
}
const { asCommonJs } = (await import(
  new URL('../../../scripts/build/bundle/commonJs.mjs', import.meta.url).href
)) as { readonly asCommonJs: (file: File) => Promise<readonly File[]> };

const MAIN = `
import { name } from "./part.cjs";
// node_modules/one/index.js
const own = import.meta.url;
const found = import.meta.resolve("its-package");
const load = () => import("./part.cjs");
const loadOther = () => import("node:path");
export { found, load, loadOther, name, own };
`;

it('a part as CommonJS has its exports, its own address, the packages that it finds, and what it loads on demand', async () => {
  const folder = await temporaryFolder();
  const parts = { 'main.cjs': MAIN, 'part.cjs': 'export const name = "part";', 'LICENSES.txt': 'MIT' };
  for (const [name, text] of Object.entries(parts)) {
    for (const file of await asCommonJs({ name, contents: Buffer.from(text) }))
      await writeFile(join(folder, file.name), file.contents);
  }
  await writeFiles(folder, { 'node_modules/its-package/index.js': '' });
  const requireIn = createRequire(join(folder, 'here.cjs'));
  const main = requireIn('./main.cjs') as Record<'load' | 'loadOther', () => Promise<unknown>>;
  expect(main).toMatchObject({
    name: 'part',
    own: pathToFileURL(join(folder, 'main.cjs')).href,
    found: pathToFileURL(join(folder, 'node_modules/its-package/index.js')).href,
  });
  expect(await main.load()).toBe(requireIn('./part.cjs'));
  expect(await main.loadOther()).toMatchObject({ join });
});

it('a part that asks what CommonJS has no answer to is rejected', async () => {
  const contents = Buffer.from('export const folder = import.meta.dirname;');
  await expect(asCommonJs({ name: 'part.cjs', contents })).rejects.toThrow('import.meta.dirname');
});
