// esbuild plugins of the bundles.
import { readFileSync } from 'node:fs';
import { relative, sep } from 'node:path';

/** The expression for a module's own URL. In this project these words appear only in code. */
const ASKED = /\bimport\.meta\.url\b/g;

/**
 * Lets bundled modules find files beside themselves: `import.meta.url` of each module below `root` is its original URL.
 * It is derived from the bundle file's URL, so that the whole folder can be moved.
 * @param fromBundle - `root`, relative to the folder of the bundle's files: `../../`.
 */
export function placesOfModules(root, fromBundle) {
  return {
    name: 'places-of-modules',
    setup(build) {
      build.onLoad({ filter: /\.js$/ }, ({ path }) => {
        const place = relative(root, path);
        if (place.startsWith('..') || place.split(sep).includes('node_modules')) return undefined;
        const code = readFileSync(path, 'utf8');
        if (code.search(ASKED) === -1) return undefined;
        const address = JSON.stringify(fromBundle + place.split(sep).join('/'));
        // On the first line, so that line numbers match the source map.
        const declared = `const ownAddress = new URL(${address}, import.meta.url).href; `;
        return { contents: declared + code.replaceAll(ASKED, 'ownAddress'), loader: 'js' };
      });
    },
  };
}

/** Marks this plugin's modules, so that it does not process them twice. */
const NAMESPACE = 'loaded-by-require';

/**
 * Matching packages stay outside the bundle and are loaded with `require`. `import` would also read each file again to
 * find its export names: a sixth of the time of a command that calls Temporal.
 * @param names - a regular expression without flags that Go accepts, too.
 * @param isFor - whether this applies to the importing module, by its path. Default: all modules.
 */
export function loadedByRequire(names, isFor = () => true) {
  return {
    name: NAMESPACE,
    setup(build) {
      build.onResolve({ filter: names }, ({ path, namespace, importer }) => {
        if (namespace === NAMESPACE) return { path, external: true };
        return isFor(importer) ? { path, namespace: NAMESPACE } : undefined;
      });
      build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path }) => ({
        contents: `module.exports = require(${JSON.stringify(path)});`,
        loader: 'js',
      }));
    },
  };
}

/** Removes zod's error messages in all languages except English. */
export const ENGLISH_ONLY = {
  name: 'english-only',
  setup(build) {
    build.onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
      loader: 'js',
    }));
  },
};
