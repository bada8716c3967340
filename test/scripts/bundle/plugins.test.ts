import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { build, type Plugin } from 'esbuild';
import { expect, it } from 'vitest';

import { useFolders, writeFiles } from '../../support/temporaryFolder.ts';

const BUNDLE = new URL('../../../scripts/build/bundle/', import.meta.url).href;
const { loadedByRequire, placesOfModules } = (await import(`${BUNDLE}plugins.mjs`)) as {
  readonly loadedByRequire: (names: RegExp) => Plugin;
  readonly placesOfModules: (root: string, fromBundle: string) => Plugin;
};

const root = useFolders();

it('each module keeps its own address in the bundle, also after the folder is moved', async () => {
  await writeFiles(root(), {
    'dist/cli/main.js': "export { place } from '../temporal/guard.js'; export const own = import.meta.url;",
    'dist/temporal/guard.js': "export const place = new URL('./program.js', import.meta.url).href;",
  });
  await bundle(placesOfModules(join(root(), 'dist'), '../../'));
  await cp(join(root(), 'dist'), join(root(), 'moved/dist'), { recursive: true });
  const moved = join(root(), 'moved/dist');
  expect(await load('moved/dist/command/build/main.js')).toMatchObject({
    own: pathToFileURL(join(moved, 'cli/main.js')).href,
    place: pathToFileURL(join(moved, 'temporal/program.js')).href,
  });
});

it('an external CommonJS package is loaded once, for the bundle and for others', async () => {
  await writeFiles(root(), {
    'node_modules/shared/package.json': JSON.stringify({ name: 'shared', main: 'index.js' }),
    'node_modules/shared/index.js': 'exports.Shared = class {}; exports.file = __filename;',
    'package.json': '{ "type": "module" }',
    'dist/cli/main.js': "export { Shared, file } from 'shared';",
    'dist/user.js': "export { Shared } from 'shared';",
  });
  await bundle(loadedByRequire(/^shared$/));
  const bundled = await load('dist/command/build/main.js');
  expect(bundled['file']).toBe(join(root(), 'node_modules/shared/index.js'));
  expect(bundled['Shared']).toBe((await load('dist/user.js'))['Shared']);
});

async function bundle(plugin: Plugin): Promise<void> {
  await build({
    entryPoints: [join(root(), 'dist/cli/main.js')],
    bundle: true,
    format: 'esm',
    platform: 'node',
    outfile: join(root(), 'dist/command/build/main.js'),
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
    plugins: [plugin],
  });
}

async function load(path: string): Promise<Record<string, unknown>> {
  return (await import(/* @vite-ignore */ pathToFileURL(join(root(), path)).href)) as Record<string, unknown>;
}
