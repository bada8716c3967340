// `src/` of each package to its `dist/`, file by file: it only removes the types. Type checking is separate.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

import ts from 'typescript';

import { filesIn, ROOT } from './freshness.mjs';

/** Folders of a `dist/` without source files. The scripts that create them also remove them. */
const BUNDLES = new Set(['command', 'bundle', 'swagger-ui', 'page']);
/** Browser code is only bundled, not compiled here. */
const FOR_BROWSERS = /\bdashboard\/browser\//;

/** Compiles one package, and removes outdated files of earlier builds. */
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
  // The SDK loads these CommonJS files with `require`; they are copied unchanged.
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

/** Checks the types of all packages at once; ends the build on an error. */
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

/** Writes the type declarations of one package beside its modules, for users of the published package. */
export function declareTypes({ src, dist }) {
  const files = filesIn(src).filter((name) => name.endsWith('.ts'));
  const { diagnostics } = ts
    .createProgram(files, {
      ...compilerOptions(),
      module: ts.ModuleKind.NodeNext,
      sourceMap: false,
      declaration: true,
      emitDeclarationOnly: true,
      // Resolve the other package as published, not to its sources.
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

/** The project's compiler options. A single file does not say that it is an ES module; all of ours are. */
function compilerOptions() {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => readFileSync(path, 'utf8'));
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT);
  return { ...options, module: ts.ModuleKind.ESNext, noEmit: false, incremental: false, sourceMap: true };
}

/** An unchanged file keeps its mtime, because later build steps depend on it. */
function writeChanged(path, text) {
  if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text);
}
