// The dashboard's files for browsers: style sheets and scripts.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { build } from 'esbuild';

import { ROOT } from './freshness.mjs';

const DASHBOARD = join(ROOT, 'src/dashboard');

/**
 * Bundles the page's files into a folder. The build and the tests both use it.
 * @returns their total size, before compression.
 */
export async function bundlePage(folder) {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [...entriesIn('browser/entries'), ...entriesIn('style/entries')],
    entryNames: '[name]',
    outdir: folder,
    bundle: true,
    minify: true,
    format: 'esm',
    target: ['chrome109', 'firefox115', 'safari16'],
    tsconfig: join(DASHBOARD, 'browser/tsconfig.json'),
    legalComments: 'eof',
    metafile: true,
    logLevel: 'warning',
  });
  const bytes = Object.values(metafile.outputs).reduce((sum, output) => sum + output.bytes, 0);
  return `${Math.round(bytes / 1024)} KiB`;
}

function entriesIn(folder) {
  return readdirSync(join(DASHBOARD, folder)).map((name) => join(DASHBOARD, folder, name));
}
