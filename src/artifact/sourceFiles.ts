import { existsSync } from 'node:fs';
import { lstat, readdir, readFile, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';

import ignore, { type Ignore } from 'ignore';

import { SlipwayError } from '../domain/errors.ts';

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
  /** As written in the link, with `/`. */
  readonly target: string;
}

export type SourceEntry = SourceFile | SourceLink;

/** Called for a file with a package registry's login, which is left out; an empty folder; and a git repository. */
type Noticed = (path: string, what: 'login' | 'empty' | 'repository') => void;

/**
 * The files and links of a source, sorted by UTF-16 code units so that the order is the same on every machine.
 * Folders are not listed, because git stores no empty ones.
 * @param noticed - called for what a person may not expect in the source, or may miss in it.
 * @throws SlipwayError `SLIPWAY_ARTIFACT_UNREADABLE` for an entry that cannot be read, a link that leads out of the
 * source or has ".." after a name, and an entry that is no file, folder or link.
 */
export async function sourceFiles(
  root: string,
  patterns: readonly string[],
  noticed: Noticed = () => undefined,
): Promise<SourceEntry[]> {
  const status = await stat(root).catch((error: unknown) => {
    throw notRead(root, error, 'Name the source’s folder.');
  });
  if (!status.isDirectory()) throw unreadable(root, 'is not a folder', 'Name the source’s folder.');
  const realRoot = await realpath(root);
  const entries: SourceEntry[] = [];
  await collect(realRoot, '', () => ignoreRules(realRoot, patterns), entries, noticed);
  return entries.sort((left, right) => (left.path < right.path ? -1 : 1));
}

async function collect(
  root: string,
  folder: string,
  rulesHere: (isRepository: boolean) => Promise<IgnoreRules>,
  entries: SourceEntry[],
  noticed: Noticed,
): Promise<void> {
  // Before the rules: an error about a closed folder names it, not the rules that it may lack.
  const found = await reading(folder, () => readdir(join(root, folder), { withFileTypes: true }));
  if (found.length === 0) noticed(folder, 'empty');
  const isRepository = found.some(({ name }) => name === '.git');
  if (isRepository) noticed(folder, 'repository');
  const rules = await rulesHere(isRepository);
  for (const item of found) {
    if (await rules.ignores(item.name, item.isDirectory())) continue;
    const path = folder === '' ? item.name : `${folder}/${item.name}`;
    if (LEADS_OUT.test(path)) {
      throw unreadable(
        path,
        'has a name that control planes read as a path out of the source',
        'Rename it, or list it in .slipwayignore.',
      );
    }
    if (item.isDirectory()) {
      const rulesBelow = (isOther: boolean) => rules.below(item.name, isOther);
      await collect(root, path, rulesBelow, entries, noticed);
    } else if (item.isSymbolicLink()) {
      entries.push({ kind: 'link', path, target: await linkTarget(root, path) });
    } else if (item.isFile()) {
      if (await reading(path, () => holdsToken(join(root, path)))) {
        noticed(path, 'login');
        continue;
      }
      const { size, mode } = await reading(path, () => lstat(join(root, path)));
      entries.push({ kind: 'file', path, sizeBytes: size, executable: (mode & 0o100) !== 0 });
    } else {
      throw unreadable(
        path,
        'is neither a file, a folder nor a link',
        'Remove it, or list it in .slipwayignore.',
      );
    }
  }
}

/** A path out of the source if a backslash separates names, and a letter with a colon is a drive, as on Windows. */
const LEADS_OUT = /^(?:\\|[a-z]:)|\.\.\\|\\\.\./i;

async function linkTarget(root: string, path: string): Promise<string> {
  const target = await reading(path, () => readlink(join(root, path)));
  const from = dirname(join(root, path));
  const leadsOut = unreadable(
    path,
    `is a link that leads out of the source, to ${target}`,
    'Replace the link by the file itself, or list it in .slipwayignore.',
  );
  if (isAbsolute(target) || LEADS_OUT.test(target) || !isInside(root, resolve(from, target))) throw leadsOut;
  // If the target is reached through another link, its real path counts. A broken link is kept unchanged.
  const real = await realpath(resolve(from, target)).catch(() => root);
  if (!isInside(root, real)) throw leadsOut;
  const written = target.split(sep).join('/');
  // Such a path is another one if the name before ".." is a link. The control plane would reject it at the build.
  const steps = written.split('/').filter((step) => step !== '' && step !== '.');
  if (steps.some((step, index) => step === '..' && index > 0 && steps[index - 1] !== '..')) {
    const direct = relativePath(from, resolve(from, target)) || '.';
    throw unreadable(path, `is a link with ".." after a name: ${target}`, `Link to ${direct} instead.`);
  }
  return written;
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

async function reading<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    // Node decodes the names of files; bytes that are not UTF-8 are lost.
    if (path.includes('\uFFFD')) throw unreadable(path, 'has a name that is not UTF-8', 'Rename it.', error);
    throw notRead(path, error);
  }
}

/** The rules for one folder of the source: its own, and those of the folders above it. */
interface IgnoreRules {
  /** Whether to leave out an entry of this folder. */
  ignores(name: string, isDirectory: boolean): Promise<boolean> | boolean;
  /**
   * The rules for a folder in this folder.
   * @param isRepository - it is a repository of its own, such as a submodule. The `.gitignore` files above it do not count there.
   */
  below(name: string, isRepository: boolean): Promise<IgnoreRules>;
}

/** The rules of one file, and the folder that its patterns are relative to. */
interface RuleFile {
  readonly folder: string;
  readonly rules: Ignore;
}

/** Never packed, even if a rule includes it. Case is ignored. */
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

/** Whether a path, with `/`, is never packed: itself, or a folder above it. */
export function isNeverPacked(path: string): boolean {
  return path
    .toLowerCase()
    .split('/')
    .some((name) => NEVER.some((pattern) => pattern.test(name)));
}

/**
 * The rules at the root of a source, in order of precedence: what is never packed; `patterns`; each `.slipwayignore`,
 * the deepest first, which can include files that git ignores; each `.gitignore` of the repository that a file is in,
 * including those above the root.
 */
async function ignoreRules(root: string, patterns: readonly string[]): Promise<IgnoreRules> {
  const above: RuleFile[] = [];
  for (const folder of foldersAbove(root)) above.push(...(await readRules(folder, '.gitignore', root)));
  const given = { folder: root, rules: gitRules([...patterns]) };
  return rulesIn(root, root, [given], [], above);
}

/**
 * The rules of a source for files that may not exist, such as those that a sparse checkout lacks.
 * @returns a function that says whether a file would be packed. `path`: relative to the root, with `/`.
 */
export function packingRules(root: string, patterns: readonly string[]): (path: string) => Promise<boolean> {
  /** By folder. `undefined`: the folder is left out. */
  const known = new Map<string, Promise<IgnoreRules | undefined>>();
  const rulesOf = (folder: string): Promise<IgnoreRules | undefined> => {
    const rules = known.get(folder) ?? read(folder);
    known.set(folder, rules);
    return rules;
  };
  const read = async (folder: string): Promise<IgnoreRules | undefined> => {
    if (folder === '.') return ignoreRules(root, patterns);
    const above = await rulesOf(dirname(folder));
    const name = basename(folder);
    return above === undefined || (await above.ignores(name, true)) ? undefined : above.below(name, false);
  };
  return async (path) => {
    const rules = await rulesOf(dirname(path));
    return rules !== undefined && !(await rules.ignores(basename(path), false));
  };
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
      if (isNeverPacked(name)) return true;
      const path = join(folder, name);
      for (const { folder: base, rules } of [...given, ...own, ...git]) {
        const { ignored, unignored } = rules.test(relativePath(base, path) + (isDirectory ? '/' : ''));
        if (ignored || unignored) return ignored;
      }
      return false;
    },
    below(name, isRepository) {
      // A file that ignores this folder, but was overruled, is dropped for its content, because it would ignore that
      // too.
      const path = join(folder, name);
      const heeded = (files: readonly RuleFile[]): RuleFile[] =>
        files.filter(({ folder: base, rules }) => !rules.ignores(`${relativePath(base, path)}/`));
      return rulesIn(root, path, heeded(given), heeded(own), isRepository ? [] : heeded(git));
    },
  };
}

async function readRules(folder: string, name: string, root: string): Promise<RuleFile[]> {
  const file = join(folder, name);
  const path = relativePath(root, file);
  // Packing without the rules could ship files that they exclude.
  let text: string;
  try {
    const found = await stat(file);
    if (found.isDirectory()) return [];
    // Reading a pipe would wait until a program writes to it.
    if (!found.isFile())
      throw unreadable(path, 'is neither a file nor a folder', 'Replace it by a file, or remove it.');
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof SlipwayError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw notRead(path, error, 'Make it readable, or remove it.');
  }
  if (text.includes('\0')) throw unreadable(path, 'is in UTF-16', 'Save it as UTF-8.');
  return [{ folder, rules: gitRules(text) }];
}

/** Patterns are case-sensitive on every machine. */
function gitRules(patterns: string | readonly string[]): Ignore {
  return ignore({ ignorecase: false }).add(patterns);
}

/** The folders above the root up to the one with `.git`, deepest first; none outside of a repository. */
function foldersAbove(root: string): string[] {
  const folders: string[] = [];
  for (let folder = resolve(root); ; folder = dirname(folder)) {
    if (folder !== resolve(root)) folders.push(folder);
    if (existsSync(join(folder, '.git'))) return folders;
    if (dirname(folder) === folder) return [];
  }
}

function relativePath(from: string, to: string): string {
  return relative(from, to).split(sep).join('/');
}

/** The files in which package managers store logins, and the lines that contain them. */
const LOGINS: Readonly<Record<string, RegExp>> = {
  '.npmrc': /^\s*(?:[^\s#;=]*:)?_(?:authToken|auth|password)\s*=\s*["']?(?!["']?\$\{)\S/im,
  '.yarnrc.yml': /^\s*["']?npmAuth(?:Token|Ident)["']?\s*:\s*["']?(?!["']?\$\{)\S/m,
};

/** Whether a package manager's configuration contains a login. `_authToken=${NPM_TOKEN}` does not count. */
async function holdsToken(file: string): Promise<boolean> {
  const login = LOGINS[basename(file).toLowerCase()];
  return login !== undefined && login.test(await readFile(file, 'utf8'));
}

/** `SLIPWAY_ARTIFACT_UNREADABLE` for a file of the source. `file` is relative to the source's root. */
export function unreadable(file: string, why: string, hint: string, cause?: unknown): SlipwayError {
  return new SlipwayError('SLIPWAY_ARTIFACT_UNREADABLE', `${file} ${why}`, {
    place: file,
    hint,
    cause,
  });
}

export function notRead(
  file: string,
  error: unknown,
  hint = 'Make it readable, or list it in .slipwayignore.',
): SlipwayError {
  return unreadable(file, `could not be read: ${systemReason(error)}`, hint, error);
}

/** The operating system's message, without the call and the path that Node appends. */
export function systemReason(error: unknown): string {
  return error instanceof Error ? error.message.replace(/, \w+ '[^]*$/, '') : String(error);
}
