import { lstat, readdir, readlink, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';

import { type IgnoreRules, ignoreRules } from './ignoreRules.ts';
import { holdsToken } from './registryToken.ts';
import { systemReason, unreadable } from './sourceError.ts';

/** A file of the source. */
export interface SourceFile {
  readonly kind: 'file';
  /** Relative to the root, with `/`. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly executable: boolean;
}

/** A symbolic link that stays inside the source. */
interface SourceLink {
  readonly kind: 'link';
  readonly path: string;
  /** As it is written, with `/`. */
  readonly target: string;
}

export type SourceEntry = SourceFile | SourceLink;

/**
 * What a source ships, in the order of its paths' UTF-16 code units, which is the same on every machine. Folders are
 * not listed: git does not keep empty ones, so two checkouts may differ in them.
 *
 * @param patterns - more to leave out, as in `.gitignore`.
 * @throws SlipwayError `SLIPWAY_ARTIFACT_UNREADABLE` for a root that is no folder, what cannot be read, a link that
 * leads out of the source, and what is neither file, folder nor link.
 */
export async function sourceFiles(root: string, patterns: readonly string[]): Promise<SourceEntry[]> {
  const status = await stat(root).catch((error: unknown) => {
    throw unreadable(root, `could not be read: ${systemReason(error)}`, 'Name the source’s folder.', error);
  });
  if (!status.isDirectory()) throw unreadable(root, 'is not a folder', 'Name the source’s folder.');
  const realRoot = await realpath(root);
  const entries: SourceEntry[] = [];
  await collect(realRoot, '', await ignoreRules(realRoot, patterns), entries);
  return entries.sort((left, right) => (left.path < right.path ? -1 : 1));
}

async function collect(
  root: string,
  folder: string,
  rules: IgnoreRules,
  entries: SourceEntry[],
): Promise<void> {
  const found = await reading(folder, () => readdir(join(root, folder), { withFileTypes: true }));
  for (const item of found) {
    if (await rules.ignores(item.name, item.isDirectory())) continue;
    const path = folder === '' ? item.name : `${folder}/${item.name}`;
    if (item.isDirectory()) {
      await collect(root, path, await rules.below(item.name), entries);
    } else if (item.isSymbolicLink()) {
      entries.push({ kind: 'link', path, target: await linkTarget(root, path) });
    } else if (item.isFile()) {
      if (await reading(path, () => holdsToken(join(root, path)))) continue;
      const { size, mode } = await reading(path, () => lstat(join(root, path)));
      entries.push({ kind: 'file', path, sizeBytes: size, executable: (mode & 0o100) !== 0 });
    } else {
      throw unreadable(
        path,
        'is neither a file, a folder nor a link',
        'Remove it, or name it in .slipwayignore.',
      );
    }
  }
}

async function linkTarget(root: string, path: string): Promise<string> {
  const target = await reading(path, () => readlink(join(root, path)));
  const from = dirname(join(root, path));
  const leadsOut = unreadable(
    path,
    `is a link that leads out of the source, to ${target}`,
    'Replace the link by the file itself, or list it in .slipwayignore.',
  );
  if (isAbsolute(target) || !isInside(root, resolve(from, target))) throw leadsOut;
  // Where the target is reached through another link, the real place counts. A link to nothing is kept as it is.
  const real = await realpath(resolve(from, target)).catch(() => root);
  if (!isInside(root, real)) throw leadsOut;
  return target.split(sep).join('/');
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

async function reading<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw unreadable(
      path,
      `could not be read: ${systemReason(error)}`,
      'Make it readable, or name it in .slipwayignore.',
      error,
    );
  }
}
