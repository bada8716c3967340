// Modules that look for files beside themselves go on finding them when they are bundled.
import { readFileSync } from 'node:fs';
import { relative, sep } from 'node:path';

/** What a module asks for its place. Nothing of the project writes these words elsewhere than in code. */
const ASKED = /\bimport\.meta\.url\b/g;

/**
 * An esbuild plugin: `import.meta.url` of each module below `root` is its own address, as it is when it is not bundled. It is
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
