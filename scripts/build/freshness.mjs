// Whether each `dist/` was built from its current `src/`, and whether `node_modules` matches the lock file.
import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The packages of this repository: their sources and their outputs. */
export const PACKAGES = {
  slipway: foldersOf(''),
  contract: foldersOf('packages/contract'),
  platform: foldersOf('packages/platform'),
};
export const DIST = PACKAGES.slipway.dist;

/** Written last, with the start time of the build, so that an edit during a build causes another one. */
const STAMP = 'dist/.built';

/** The inputs of a build. */
const INPUTS = [
  'src',
  'packages/contract/src',
  'packages/contract/package.json',
  'packages/platform/src',
  'packages/platform/package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'package-lock.json',
  'scripts/build.mjs',
  'scripts/build',
];

/** @returns why a build is needed; `undefined` if `dist/` is up to date. */
export function whyBuild(root = ROOT) {
  const stamp = join(root, STAMP);
  if (!existsSync(stamp)) return 'there is no finished build';
  const builtAt = statSync(stamp).mtimeMs;
  const changed = INPUTS.map((name) => join(root, name))
    .flatMap(tree)
    .find((path) => {
      return statSync(path).mtimeMs > builtAt;
    });
  return changed === undefined ? undefined : `${relative(root, changed)} changed`;
}

export function stampBuild(startedAt) {
  const stamp = join(ROOT, STAMP);
  writeFileSync(stamp, '');
  utimesSync(stamp, startedAt / 1000, startedAt / 1000);
}

/**
 * @returns why dependencies must be installed; `undefined` if they match the lock file. It compares the lock file with
 * npm's own record of the installation, which does not depend on file times.
 */
export function whyInstall(root = ROOT) {
  const account = join(root, 'node_modules/.package-lock.json');
  if (!existsSync(account)) return 'node_modules is missing';
  const installed = packagesOf(account);
  const wrong = Object.entries(packagesOf(join(root, 'package-lock.json'))).find(([path, wanted]) => {
    if (path === '' || wanted.link === true) return false;
    const found = installed[path];
    // An optional package for another system is not installed.
    return found === undefined
      ? wanted.optional !== true && wanted.devOptional !== true
      : found.version !== wanted.version;
  });
  return wrong === undefined ? undefined : `${wrong[0]} is not the locked ${wrong[1].version}`;
}

function packagesOf(lockFile) {
  return JSON.parse(readFileSync(lockFile, 'utf8')).packages ?? {};
}

function foldersOf(folder) {
  return { src: join(ROOT, folder, 'src'), dist: join(ROOT, folder, 'dist') };
}

/** The paths of all files below a folder. */
export function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** A path and everything below it; directories count, because removing a file changes only its directory. */
function tree(path) {
  if (!statSync(path).isDirectory()) return [path];
  return [path, ...readdirSync(path, { recursive: true }).map((name) => join(path, name))];
}
