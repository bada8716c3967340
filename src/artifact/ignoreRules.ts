import { readFile, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';

import ignore, { type Ignore } from 'ignore';

import { systemReason, unreadable } from './sourceError.ts';

/** The rules that hold in one folder of the source: its own, and those of the folders above it. */
export interface IgnoreRules {
  /** Whether an entry of this folder is left out. */
  ignores(name: string, isDirectory: boolean): Promise<boolean> | boolean;
  /** The rules of a folder in this folder. */
  below(name: string): Promise<IgnoreRules>;
}

/** Rules of one file, and the folder that its patterns are relative to. */
interface RuleFile {
  readonly folder: string;
  readonly rules: Ignore;
}

/**
 * Never packed, whatever the rules say: git's and Slipway's own folders, what is installed anew, and what holds
 * secrets. Names are compared without case, as some file systems do.
 */
const NEVER = [
  /^\.git$/,
  /^\.slipway$/,
  /^node_modules$/,
  /^\.ds_store$/,
  /^\.env(?!\.example$)/,
  /\.(?:pem|key|p12|pfx|jks|keystore|ppk)$/,
  /^id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?$/,
  /^\.netrc$/,
];

/**
 * The rules at the root of a source. In the order in which they decide: what is never packed; `patterns`; each
 * `.slipwayignore`, the deepest first, which can bring back (`!dist/`) what git leaves out; each `.gitignore` likewise,
 * including those above the root in the same repository.
 *
 * @param patterns - as in `.gitignore`, relative to the root.
 */
export async function ignoreRules(root: string, patterns: readonly string[]): Promise<IgnoreRules> {
  const above: RuleFile[] = [];
  for (const folder of await foldersAbove(root)) above.push(...(await readRules(folder, '.gitignore', root)));
  const given = { folder: root, rules: gitRules([...patterns]) };
  return rulesIn(root, root, [given], [], above);
}

async function rulesIn(
  root: string,
  folder: string,
  given: readonly RuleFile[],
  inheritedOwn: readonly RuleFile[],
  inheritedGit: readonly RuleFile[],
): Promise<IgnoreRules> {
  const own = [...(await readRules(folder, '.slipwayignore', root)), ...inheritedOwn];
  const git = [...(await readRules(folder, '.gitignore', root)), ...inheritedGit];
  return {
    ignores(name, isDirectory) {
      if (NEVER.some((pattern) => pattern.test(name.toLowerCase()))) return true;
      const path = join(folder, name);
      for (const { folder: base, rules } of [...given, ...own, ...git]) {
        const { ignored, unignored } = rules.test(relativePath(base, path) + (isDirectory ? '/' : ''));
        if (ignored || unignored) return ignored;
      }
      return false;
    },
    below(name) {
      // A file whose word on this very folder was overruled is not asked about what is in it: it would say the same.
      const path = join(folder, name);
      const heeded = (files: readonly RuleFile[]): RuleFile[] =>
        files.filter(({ folder: base, rules }) => !rules.ignores(`${relativePath(base, path)}/`));
      return rulesIn(root, path, heeded(given), heeded(own), heeded(git));
    },
  };
}

async function readRules(folder: string, name: string, root: string): Promise<RuleFile[]> {
  const file = join(folder, name);
  try {
    return [{ folder, rules: gitRules(await readFile(file, 'utf8')) }];
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR') return [];
    // Packing without the rules could ship what they keep out.
    throw unreadable(
      relativePath(root, file),
      `could not be read: ${systemReason(error)}`,
      'Make it readable, or remove it.',
      error,
    );
  }
}

/** Patterns tell case, as git does where file names do: what is packed must not depend on the machine. */
function gitRules(patterns: string | readonly string[]): Ignore {
  return ignore({ ignorecase: false }).add(patterns);
}

/** The folders above the root up to the one that holds `.git`, the deepest first; none outside of a repository. */
async function foldersAbove(root: string): Promise<string[]> {
  const folders: string[] = [];
  for (let folder = resolve(root); ; folder = dirname(folder)) {
    if (folder !== resolve(root)) folders.push(folder);
    if (await exists(join(folder, '.git'))) return folders;
    if (dirname(folder) === folder) return [];
  }
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function relativePath(from: string, to: string): string {
  return relative(from, to).split(sep).join('/');
}
