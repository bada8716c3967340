import { join } from 'node:path';

import { expect, it } from 'vitest';

import { useFolders, writeFiles } from '../../support/temporaryFolder.ts';

const { licensesOf } = (await import(
  new URL('../../../scripts/build/bundle/licenses.mjs', import.meta.url).href
)) as { readonly licensesOf: (root: string, files: readonly string[]) => string };

const root = useFolders();

it('lists the license of each bundled package once, with its text', async () => {
  await installed('one', { license: 'MIT' }, { 'LICENSE.md': 'The text of one.\n' });
  await installed(
    '@scope/two',
    { license: 'Apache-2.0' },
    { LICENCE: 'The text of two.', NOTICE: 'By them.' },
  );
  await installed('one/node_modules/inner', { license: 'ISC' }, {});
  await installed('unused', {}, {});
  expect(
    licensesOf(root(), [
      'dist/cli/main.js',
      'node_modules/one/a.js',
      'node_modules/one/lib/b.js',
      'node_modules/one/node_modules/inner/index.js',
      'node_modules/@scope/two/index.js',
      'loaded-by-require:three',
    ]).split(`\n${'='.repeat(80)}\n\n`),
  ).toEqual([
    '@scope/two 1.2.3: Apache-2.0\n\nThe text of two.\n\nBy them.\n',
    'one 1.2.3: MIT\n\nThe text of one.\n',
    'one/node_modules/inner 1.2.3: ISC\n',
  ]);
});

it('rejects a package without a license', async () => {
  await installed('secretive', {}, {});
  expect(() => licensesOf(root(), ['node_modules/secretive/index.js'])).toThrow('does not say its license');
});

async function installed(
  name: string,
  described: object,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  const description = JSON.stringify({ name, version: '1.2.3', ...described });
  await writeFiles(join(root(), 'node_modules', name), { ...files, 'package.json': description });
}
