// Bundles the code that every start loads: reading a few files is much faster than reading hundreds.
import { basename, join } from 'node:path';

import { build } from 'esbuild';

import { writeBuild } from './bundle/builds.mjs';
import { asCommonJs } from './bundle/commonJs.mjs';
import { licensesOf } from './bundle/licenses.mjs';
import { ENGLISH_ONLY, loadedByRequire, placesOfModules } from './bundle/plugins.mjs';
import { temporalClient } from './bundle/temporalClient.mjs';
import { PACKAGES, ROOT } from './freshness.mjs';

/**
 * Packages outside the bundles. `@langchain/*`: an agent's graphs load it too, and there must be one copy per process.
 * `tsx`: it registers its own files with Node. The platform: it is optional.
 */
const EXTERNAL = ['@langchain/*', 'tsx/*', '@slipway/platform', '@slipway/platform/*'];
/**
 * CommonJS packages outside the bundles. `@temporalio/*`: it finds its own files (native library, bundler, threads),
 * and recognizes errors by their classes. `@opentelemetry/*`: loaded only for traces or metrics. `pg`: loaded by the
 * checkpoints of `@langchain/*`; `pg-native` is not installed.
 */
const EXTERNAL_COMMON_JS =
  /^(@temporalio\/(activity|core-bridge|testing|worker|workflow)(\/.*)?|@opentelemetry\/.*|pg|pg-native)$/;

/** Bundled CommonJS loads Node's modules with `require`. */
const BANNER =
  "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);";

/** The command: `bin/slipway.js` loads its `main.cjs`. */
export function bundleCommand(options) {
  const { dist } = PACKAGES.slipway;
  return bundle({
    dist,
    entryPoints: [join(dist, 'cli/main.js')],
    folder: join(dist, 'command'),
    plugins: temporalClient(),
    isCommonJs: true,
    ...options,
  });
}

/** The platform: the exports of its `package.json`, and the entry of an agent's process. */
export function bundlePlatform(options) {
  const { dist } = PACKAGES.platform;
  const entryPoints = ['index', 'agent', 'agentMain', 'home'].map((name) => join(dist, `${name}.js`));
  return bundle({ dist, entryPoints, folder: join(dist, 'bundle'), ...options });
}

/**
 * Bundles modules with their imports. Dynamic imports become separate parts, loaded on demand. Names are not minified,
 * and with `NODE_OPTIONS=--enable-source-maps` a stack trace shows lines of `src/`.
 * @param options.dist - the package's `dist/`, which contains the modules.
 * @param options.folder - the bundle's folder, directly below `dist`; see `bundle/builds.mjs`.
 * @param options.isCommonJs - makes CommonJS of it. Default: ES modules.
 * @param options.keepEarlier - whether to keep the previous build, for processes that run from it.
 * @returns the size of its code.
 */
async function bundle({ dist, entryPoints, folder, keepEarlier, plugins = [], isCommonJs = false }) {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    splitting: true,
    // Two levels below `dist/`, like the final files, because paths in the source maps are relative.
    outdir: join(folder, 'build'),
    external: EXTERNAL,
    plugins: [...plugins, loadedByRequire(EXTERNAL_COMMON_JS), placesOfModules(dist, '../../'), ENGLISH_ONLY],
    banner: { js: isCommonJs ? '' : BANNER },
    sourcemap: isCommonJs ? 'inline' : 'linked',
    outExtension: { '.js': isCommonJs ? '.cjs' : '.js' },
    sourcesContent: false,
    legalComments: 'linked',
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
  refuseNameless(metafile.outputs);
  const made = outputFiles.map(({ path, contents }) => ({ name: basename(path), contents }));
  const files = isCommonJs ? (await Promise.all(made.map(asCommonJs))).flat() : made;
  const licenses = Buffer.from(licensesOf(ROOT, Object.keys(metafile.inputs)));
  writeBuild(folder, {
    files: [...files, { name: 'LICENSES.txt', contents: licenses }],
    entries: entryPoints.map((path) => `${basename(path, '.js')}${isCommonJs ? '.cjs' : '.js'}`),
    keepEarlier,
  });
  const code = files.filter(({ name }) => /\.c?js$/.test(name));
  return `${Math.round(code.reduce((sum, { contents }) => sum + contents.length, 0) / 1024)} KiB`;
}

/**
 * Rejects dynamic imports of CommonJS packages: esbuild gives them only a default export, without names.
 * @throws Error if there is such an import. Import it in a module of `src/` that exports the needed names.
 */
function refuseNameless(outputs) {
  const nameless = Object.values(outputs).find(
    ({ entryPoint = '', exports }) => entryPoint.includes('node_modules/') && exports.join() === 'default',
  );
  if (nameless !== undefined) throw new Error(`import() of ${nameless.entryPoint} would have no names.`);
}
