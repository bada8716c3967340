// What is loaded at every start, bundled: a few files are read in much less time than some hundred.
import { basename, join } from 'node:path';

import { build } from 'esbuild';

import { writeBuild } from './bundle/builds.mjs';
import { licensesOf } from './bundle/licenses.mjs';
import { ENGLISH_ONLY, loadedByRequire, placesOfModules } from './bundle/plugins.mjs';
import { temporalClient } from './bundle/temporalClient.mjs';
import { PACKAGES, ROOT } from './freshness.mjs';

/**
 * What stays outside of the bundles, because others in the same process load it too, and there has to be one copy of it:
 * `@langchain/*` is what an agent's graphs are made of. What registers files of its own with Node: `tsx`. And what need
 * not be installed: the platform.
 */
const EXTERNAL = ['@langchain/*', 'tsx/*', '@slipway/platform', '@slipway/platform/*'];
/**
 * The same, of CommonJS. `@temporalio/*` finds files of its own (native library, bundler, threads), and knows what an
 * activity throws and asks by its classes. `@opentelemetry/*` is loaded only where traces or metrics are asked for. `pg` is what the checkpoints of `@langchain/*` load; `pg-native` is not there.
 */
const EXTERNAL_COMMON_JS =
  /^(@temporalio\/(activity|core-bridge|testing|worker|workflow)(\/.*)?|@opentelemetry\/.*|pg|pg-native)$/;

/** Bundled CommonJS asks for Node's own modules with `require`. */
const BANNER =
  "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);";

/** The command: `bin/slipway.js` loads its `main.js`. */
export function bundleCommand(options) {
  const { dist } = PACKAGES.slipway;
  return bundle({
    dist,
    entryPoints: [join(dist, 'cli/main.js')],
    folder: join(dist, 'command'),
    plugins: temporalClient(),
    ...options,
  });
}

/** The platform: what its `package.json` exports, and the process that it starts for an agent. */
export function bundlePlatform(options) {
  const { dist } = PACKAGES.platform;
  const entryPoints = ['index', 'agent', 'agentMain', 'home'].map((name) => join(dist, `${name}.js`));
  return bundle({ dist, entryPoints, folder: join(dist, 'bundle'), ...options });
}

/**
 * Bundles modules with what they import. What a command imports when it runs becomes a part of its own, which is loaded
 * then. Names stay as they are, and with `NODE_OPTIONS=--enable-source-maps` a stack shows lines of `src/`.
 *
 * @param options.dist - the package's `dist/`, which the modules are from.
 * @param options.folder - where the bundle is, right below `dist`; `bundle/builds.mjs` says how.
 * @param options.keepEarlier - whether the last build before this one stays, for the processes that run from it.
 * @returns the size of its code.
 */
async function bundle({ dist, entryPoints, folder, keepEarlier, plugins = [] }) {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    splitting: true,
    // Two levels below `dist/`, as what is written in the end: addresses in the source maps are relative.
    outdir: join(folder, 'build'),
    external: EXTERNAL,
    plugins: [...plugins, loadedByRequire(EXTERNAL_COMMON_JS), placesOfModules(dist, '../../'), ENGLISH_ONLY],
    banner: { js: BANNER },
    sourcemap: 'linked',
    sourcesContent: false,
    legalComments: 'linked',
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
  refuseNameless(metafile.outputs);
  const files = outputFiles.map(({ path, contents }) => ({ name: basename(path), contents }));
  const licenses = Buffer.from(licensesOf(ROOT, Object.keys(metafile.inputs)));
  writeBuild(folder, {
    files: [...files, { name: 'LICENSES.txt', contents: licenses }],
    entries: entryPoints.map((path) => basename(path)),
    keepEarlier,
  });
  const code = files.filter(({ name }) => name.endsWith('.js'));
  return `${Math.round(code.reduce((sum, { contents }) => sum + contents.length, 0) / 1024)} KiB`;
}

/**
 * esbuild gives what is imported by `import()` its names, but for a package of CommonJS, which gets a default only.
 *
 * @throws Error where there is such an import: it belongs behind a module of `src/` that exports what is needed.
 */
function refuseNameless(outputs) {
  const nameless = Object.values(outputs).find(
    ({ entryPoint = '', exports }) => entryPoint.includes('node_modules/') && exports.join() === 'default',
  );
  if (nameless !== undefined) throw new Error(`import() of ${nameless.entryPoint} would have no names.`);
}
