// The plugins of esbuild that the bundles are made with.
import { readFileSync } from 'node:fs';
import { relative, sep } from 'node:path';

/** What a module asks for its place. Nothing of the project writes these words elsewhere than in code. */
const ASKED = /\bimport\.meta\.url\b/g;

/**
 * Modules that look for files beside themselves find them when they are bundled: `import.meta.url` of each module below `root` is its own address. It is
 * made from the address of the bundle's file, so that the whole can be moved.
 *
 * @param fromBundle - `root`, as seen from where the bundle's files come to lie: `../../`.
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
        // On the first line, so that the lines stay where the source map has them.
        const declared = `const ownAddress = new URL(${address}, import.meta.url).href; `;
        return { contents: declared + code.replaceAll(ASKED, 'ownAddress'), loader: 'js' };
      });
    },
  };
}

/** Marks what this plugin made, and keeps it from being taken twice. */
const NAMESPACE = 'loaded-by-require';

/**
 * Packages that match stay outside of the bundle, and are loaded by `require`. `import` would give the
 * same, and read each of their files once more to find the names of its exports: a sixth of the time of a command that
 * asks Temporal.
 *
 * @param names - a regular expression that Go understands too, without flags.
 * @param isFor - tells by its path whether a module that imports such a package gets it so. Default: each.
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

/** All but English of the languages that zod describes problems in. */
export const ENGLISH_ONLY = {
  name: 'english-only',
  setup(build) {
    build.onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
      loader: 'js',
    }));
  },
};
