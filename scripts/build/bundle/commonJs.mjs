// Node loads a bundle's parts faster as CommonJS: without asynchronous steps for each file (`bench/README.md`). esbuild
// splits only ES modules, so each part is converted afterwards.
import { transform } from 'esbuild';

/** An import of another part on demand, as esbuild writes it. */
const ON_DEMAND = /\bimport\("(\.\/[^"]+\.cjs)"\)/g;
/** The name of the module that follows, which esbuild keeps only in such a comment. */
const NAME = /^( *)\/\/ (?=(?:node_modules|dist)\/)/gm;

/** What a module asks about itself, the name of the answer in a CommonJS file, and the answer. */
const OWN = [
  ['import.meta.url', 'ownUrl', 'require("node:url").pathToFileURL(__filename).href'],
  [
    'import.meta.resolve',
    'ownResolve',
    '(name) => require("node:url").pathToFileURL(require.resolve(name)).href',
  ],
];

/**
 * Makes CommonJS of a bundle's file that is an ES module with an inline source map.
 * @returns the file and its source map; other files unchanged.
 * @throws Error if it uses `import.meta` in another way than {@link OWN}.
 */
export async function asCommonJs({ name, contents }) {
  if (!name.endsWith('.cjs')) return [{ name, contents }];
  const text = Buffer.from(contents).toString();
  const onDemand = text.replaceAll(ON_DEMAND, 'Promise.resolve().then(() => require("$1"))');
  const used = OWN.filter(([asked]) => text.includes(asked));
  const { code, map, warnings } = await transform(onDemand.replaceAll(NAME, '$1//! '), {
    format: 'cjs',
    platform: 'node',
    target: 'node20.19',
    sourcefile: name,
    sourcemap: 'external',
    sourcesContent: false,
    define: Object.fromEntries(used),
    banner: used.map(([, own, value]) => `const ${own} = ${value};`).join(' '),
  });
  const lost = warnings.find(({ id }) => id === 'empty-import-meta');
  if (lost !== undefined) throw new Error(`CommonJS lacks ${lost.location.lineText.trim()}`);
  const linked = `${code}//# sourceMappingURL=${name}.map\n`;
  return [
    { name, contents: Buffer.from(linked) },
    { name: `${name}.map`, contents: Buffer.from(map) },
  ];
}
