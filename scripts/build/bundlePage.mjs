// The dashboard's files for browsers: style sheets and scripts.
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
    entryPoints: [
      { out: 'page', in: join(DASHBOARD, 'browser/entries/page.ts') },
      { out: 'page', in: join(DASHBOARD, 'style/page.css') },
      { out: 'charts', in: join(DASHBOARD, 'browser/entries/charts.ts') },
      { out: 'charts', in: 'uplot/dist/uPlot.min.css' },
    ],
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
