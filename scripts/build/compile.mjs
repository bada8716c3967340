// `src/` of each package to its `dist/`, file by file: nothing but the types is taken away. Whether those are right is a
// question of its own.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

import ts from 'typescript';

import { ROOT } from './freshness.mjs';

/** Folders of a `dist/` that have no source files of their own: those who make them remove them. */
const BUNDLES = new Set(['command', 'bundle', 'swagger-ui', 'page']);
/** What runs in browsers is bundled for them alone. */
const FOR_BROWSERS = /\bdashboard\/browser\//;

/** Compiles one package, and removes what an earlier build made and this one does not. */
export function compile({ src, dist }) {
  const options = compilerOptions();
  const made = new Set();
  for (const path of filesIn(src).filter(isModule)) {
    const place = relative(src, path).replace(/\.tsx?$/, '.js');
    const output = join(dist, place);
    const { outputText, sourceMapText } = ts.transpileModule(readFileSync(path, 'utf8'), {
      fileName: path,
      compilerOptions: options,
    });
    mkdirSync(dirname(output), { recursive: true });
    writeChanged(output, outputText);
    const map = {
      ...JSON.parse(sourceMapText),
      sources: [relative(dirname(output), path).split(sep).join('/')],
    };
    writeChanged(`${output}.map`, JSON.stringify(map));
    made.add(place).add(`${place}.map`);
  }
  // What the SDK loads with `require` is CommonJS as it stands.
  for (const path of filesIn(src).filter((name) => name.endsWith('.cjs'))) {
    writeChanged(join(dist, relative(src, path)), readFileSync(path, 'utf8'));
  }
  for (const path of filesIn(dist)) {
    const place = relative(dist, path);
    const mayGo = /\.(js|js\.map|d\.ts)$/.test(place) && !place.startsWith('workflow-bundle.');
    if (mayGo && !BUNDLES.has(place.split(sep)[0]) && !made.has(place)) rmSync(path);
  }
}

function isModule(path) {
  return /(?<!\.d)\.tsx?$/.test(path) && !FOR_BROWSERS.test(path.split(sep).join('/'));
}

/** Checks the types of all packages at once; ends the build where something is wrong. */
export function checkTypes() {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  for (const project of ['tsconfig.build.json', 'src/dashboard/browser']) {
    const { status, error } = spawnSync(process.execPath, [tsc, '-p', project], {
      cwd: ROOT,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    if (error !== undefined) throw error;
    if (status !== 0) process.exit(status ?? 1);
  }
}

/** Writes the declarations of one package beside its modules, for those who import the published package. */
export function declareTypes({ src, dist }) {
  const files = filesIn(src).filter((name) => name.endsWith('.ts'));
  const { diagnostics } = ts
    .createProgram(files, {
      ...compilerOptions(),
      module: ts.ModuleKind.NodeNext,
      sourceMap: false,
      declaration: true,
      emitDeclarationOnly: true,
      // The other package as it is published, not its sources.
      customConditions: [],
      rootDir: src,
      outDir: dist,
    })
    .emit();
  if (diagnostics.length === 0) return;
  const host = { getCanonicalFileName: String, getCurrentDirectory: () => ROOT, getNewLine: () => '\n' };
  process.stderr.write(ts.formatDiagnostics(diagnostics, host));
  process.exit(1);
}

/** Those of the project. One file by itself does not say that it is an ECMAScript module: all of ours are. */
function compilerOptions() {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => readFileSync(path, 'utf8'));
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT);
  return { ...options, module: ts.ModuleKind.ESNext, noEmit: false, incremental: false, sourceMap: true };
}

/** An unchanged file keeps its time, which decides what else must be made anew. */
function writeChanged(path, text) {
  if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text);
}

function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
