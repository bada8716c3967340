import { lstat, readFile, realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

import { notRead, packingRules, type SourceEntry, sourceFiles } from '../../../artifact/sourceFiles.ts';
import type { Project } from '../../../config/loadConfig.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { Machine } from '../../../inspection/deployment/deploymentAccess.ts';
import type { Output } from '../../output.ts';
import { gitIn } from '../../provenance.ts';
import { firstOf } from '../../ui/text.ts';
import { artifactStoreOf } from './artifactStoreOf.ts';

/** The folder that is packed for a release, and which of its files. */
export interface SourceToPack {
  readonly root: string;
  readonly entries: readonly SourceEntry[];
  /** The rules of `artifact.ignore`, and Slipway's own folders. */
  readonly patterns: readonly string[];
  /** The files that are left out because they contain a package registry's login. */
  readonly withLogin: readonly string[];
  readonly emptyFolders: readonly string[];
  /** The folders in which git is asked: the root, and each repository in it, such as a submodule. */
  readonly repositories: readonly string[];
}

/** The source that `slipway.yaml` names, resolved relative to that file, without Slipway's own folders. */
export async function sourceToPack({ config, folder }: Project, context: Machine): Promise<SourceToPack> {
  const root = await withoutLinks(resolve(folder, config.artifact.path));
  const { url } = artifactStoreOf({ config, folder }, context);
  // They change with each release, and the home has keys.
  const places = [context.home, ...(url.startsWith('file:') ? [fileURLToPath(url)] : [])];
  const own = await Promise.all(places.map(withoutLinks));
  const patterns = [...config.artifact.ignore, ...own.flatMap((place) => patternOf(relative(root, place)))];
  const noticed = { login: [] as string[], empty: [] as string[], repository: [''] };
  const entries = await sourceFiles(root, patterns, (path, what) => noticed[what].push(path));
  const source = {
    root,
    entries,
    patterns,
    withLogin: noticed.login,
    emptyFolders: noticed.empty,
    repositories: [...new Set(noticed.repository)],
  };
  await requireMerged(source);
  return source;
}

/** A path without symbolic links, such as that of the working folder in `$PWD`. A path that leads nowhere stays as it is. */
export function withoutLinks(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

/** The pattern of one folder in an ignore file. None for a folder that is not in the source, or is the source. */
function patternOf(path: string): readonly string[] {
  if (path === '' || path.split(sep)[0] === '..' || isAbsolute(path)) return [];
  const escaped = path.replaceAll(sep, '/').replaceAll(/[\\*?[\]!#\s]/g, '\\$&');
  return [`/${escaped}/`];
}

/**
 * An unfinished merge, rebase or `stash pop` leaves conflict markers in files, or another commit of a submodule. Without
 * git, nothing is checked.
 */
async function requireMerged(source: SourceToPack): Promise<void> {
  const unmerged = await gitPaths(source, ['diff', '--name-only', '--diff-filter=U', '--relative']);
  const place = unmerged.find((path) =>
    source.entries.some((entry) => entry.path === path || entry.path.startsWith(`${path}/`)),
  );
  if (place === undefined) return;
  throw new SlipwayError('SLIPWAY_ARTIFACT_UNMERGED', `${place} has an unresolved merge conflict`, {
    place,
    hint: 'resolve it, and run git add on it',
  });
}

/**
 * The paths that git lists in the repositories of a source, relative to the source. None without git.
 * @param refused - see {@link gitIn}.
 */
async function gitPaths(
  { root, repositories }: SourceToPack,
  args: readonly string[],
  refused?: (remedy: string) => void,
): Promise<readonly string[]> {
  const paths: string[] = [];
  for (const repository of repositories) {
    const listed = await gitIn(join(root, repository), refused)(...args, '-z');
    const found = listed?.split('\0').filter((path) => path !== '') ?? [];
    paths.push(...found.map((path) => (repository === '' ? path : `${repository}/${path}`)));
  }
  return paths;
}

/** A pointer of Git LFS is shorter than this many bytes. */
const POINTER_MAX_BYTES = 1_024;

/**
 * Warns of files with logins, which are left out; of files that a checkout without Git LFS has pointers of; of
 * submodules and of files of a sparse checkout that it lacks; and of a repository that git refuses. Without git, only of the
 * first.
 */
export async function warnOfSource(output: Output, source: SourceToPack): Promise<void> {
  const { root, entries, withLogin, emptyFolders } = source;
  if (withLogin.length > 0) {
    output.warn(`left out, because they contain a login of a package registry: ${firstOf(withLogin)}`);
    output.note('  builds run without their settings; keep the login in another file, such as ~/.npmrc');
  }
  const refused = (remedy: string): void => {
    output.warn(
      'git refuses the source’s repository because another user owns it, so nothing is known of it',
    );
    output.note(`  allow it: ${remedy}`);
  };
  const [withLfs, tracked] = await Promise.all([
    gitPaths(source, ['ls-files', ':(attr:filter=lfs)'], refused).then((paths) => new Set(paths)),
    gitPaths(source, ['ls-files']).then((paths) => new Set(paths)),
  ]);
  // Of an empty folder, git lists only a submodule.
  const submodules = emptyFolders.filter((path) => tracked.has(path));
  if (submodules.length > 0) {
    output.warn(`the source lacks the files of git submodules: ${firstOf(submodules)}`);
    output.note(
      '  fetch them: git submodule update --init --recursive; in GitHub Actions: actions/checkout with submodules: recursive',
    );
  }
  const leftOut = await sparseFiles(source, tracked);
  if (leftOut.length > 0) {
    output.warn(`the source lacks files that its sparse checkout leaves out: ${firstOf(leftOut)}`);
    output.note(
      '  fetch them: git sparse-checkout disable; in GitHub Actions: actions/checkout without sparse-checkout; or list them in .slipwayignore',
    );
  }
  const pointers: string[] = [];
  for (const { path, ...entry } of entries) {
    if (entry.kind !== 'file' || entry.sizeBytes >= POINTER_MAX_BYTES || !withLfs.has(path)) continue;
    const text = await readFile(join(root, path), 'utf8').catch((error: unknown) => {
      throw notRead(path, error);
    });
    if (text.startsWith('version https://git-lfs.')) pointers.push(path);
  }
  if (pointers.length === 0) return;
  output.warn(`the source has pointers of Git LFS in place of files: ${firstOf(pointers)}`);
  output.note('  fetch them: git lfs pull; in GitHub Actions: actions/checkout with lfs: true');
}

/**
 * The tracked files that a source would pack, but lacks because of a sparse checkout. Files that a person removed do not
 * count.
 */
async function sparseFiles(source: SourceToPack, tracked: ReadonlySet<string>): Promise<readonly string[]> {
  const { root, entries, patterns } = source;
  const packed = new Set(entries.map(({ path }) => path));
  const isPacked = packingRules(root, patterns);
  const missing: string[] = [];
  for (const path of tracked) {
    if (packed.has(path) || !(await isPacked(path))) continue;
    const isThere = await lstat(join(root, path)).then(
      () => true,
      () => false,
    );
    if (!isThere) missing.push(path);
  }
  // Git does not count what a sparse checkout leaves out as deleted.
  const removed = new Set(missing.length === 0 ? [] : await gitPaths(source, ['ls-files', '--deleted']));
  return missing.filter((path) => !removed.has(path));
}
