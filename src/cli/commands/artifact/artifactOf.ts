import { readFile } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { ArtifactStore } from '../../../artifact/artifactStore.ts';
import { openArtifactStore } from '../../../artifact/openArtifactStore.ts';
import { type PackedSource, packSource } from '../../../artifact/pack.ts';
import { notRead, type SourceEntry, sourceFiles } from '../../../artifact/sourceFiles.ts';
import type { SuspectedSecret } from '../../../artifact/suspectedSecrets.ts';
import type { Project } from '../../../config/loadConfig.ts';
import type { Artifact } from '../../../domain/artifact/artifact.ts';
import { storeScheme } from '../../../domain/artifact/storeUrl.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { Machine } from '../../../inspection/deployment/deploymentAccess.ts';
import type { CommandContext } from '../../context.ts';
import type { Output } from '../../output.ts';
import { gitIn } from '../../provenance.ts';
import { sayIfSlow } from '../../sayIfSlow.ts';
import { counted, sizeText } from '../../ui/text.ts';
import { missingGraphs } from '../lint/graphProblems.ts';

/** An artifact that can be released, and where records of its releases are kept. */
export interface PreparedArtifact {
  readonly artifact: Artifact;
  readonly recordStore: string;
  /** How many files and links a tarball contains. */
  readonly entries?: number;
}

/**
 * Makes a target's artifact: packs the source and puts it in the artifact store, or names the image or the git ref.
 * @param strict - refuse a source that contains a suspected secret, instead of warning.
 * @param take - called with the packed source before it is removed. Default: puts it in the artifact store.
 */
export async function artifactOf(
  { config, folder }: Project,
  targetName: string,
  context: CommandContext,
  strict: boolean,
  signal: AbortSignal,
  take?: (packed: PackedSource) => Promise<void>,
): Promise<PreparedArtifact> {
  const target = config.targets[targetName];
  if (target === undefined) {
    const hint = 'release on it with: slipway preview --pr NUMBER';
    throw new SlipwayError('SLIPWAY_TARGET_UNKNOWN', `"${targetName}" is a preview's deployment`, { hint });
  }
  const store = artifactStoreOf({ config, folder }, context);
  const recordStore = store.url;
  if (target.image !== undefined) return { artifact: { kind: 'image', uri: target.image }, recordStore };
  if (target.repo !== undefined) return { artifact: { kind: 'git', ref: target.repo.ref }, recordStore };

  const source = await sourceToPack({ config, folder }, context);
  const { output } = context;
  for (const { path, message } of await missingGraphs({ config, folder }, [targetName]))
    output.warn(`${path.join('.')}: ${message}`);
  const packed = await packWarned(output, source, strict, signal);
  const { digest, sizeBytes, entries } = packed;
  try {
    const putting = take?.(packed) ?? store.put(packed.file, digest, signal);
    await sayIfSlow(output, `Storing ${sizeText(sizeBytes)} in ${store.url}`, putting);
  } finally {
    await packed.remove();
  }
  return { artifact: { kind: 'tarball', digest, sizeBytes, store: store.url }, recordStore, entries };
}

/** Packs a source, and warns first of what a person may not want in it, or may miss. @throws as {@link warnOfSecrets}. */
export async function packWarned(
  output: Output,
  source: SourceToPack,
  strict: boolean,
  signal: AbortSignal,
): Promise<PackedSource> {
  await warnOfSource(output, source);
  const pack = async (): Promise<PackedSource> => {
    await warnOfSecrets(output, source, strict, signal);
    return packSource({ ...source, signal });
  };
  const bytes = source.entries.reduce((sum, entry) => sum + (entry.kind === 'file' ? entry.sizeBytes : 0), 0);
  return sayIfSlow(output, `Packing ${counted(source.entries.length, 'file')}, ${sizeText(bytes)}`, pack());
}

/** The folder that is packed for a release, and which of its files. */
export interface SourceToPack {
  readonly root: string;
  readonly entries: readonly SourceEntry[];
  /** The files that are left out because they contain a package registry's login. */
  readonly withLogin: readonly string[];
  readonly emptyFolders: readonly string[];
}

/** The source that `slipway.yaml` names, resolved relative to that file, without Slipway's own folders. */
export async function sourceToPack({ config, folder }: Project, context: Machine): Promise<SourceToPack> {
  const root = resolve(folder, config.artifact.path);
  const { url } = artifactStoreOf({ config, folder }, context);
  // They change with each release, and the home has keys.
  const own = [context.home, ...(url.startsWith('file:') ? [fileURLToPath(url)] : [])];
  const patterns = [...config.artifact.ignore, ...own.flatMap((place) => patternOf(relative(root, place)))];
  const leftOut = { login: [] as string[], empty: [] as string[] };
  const entries = await sourceFiles(root, patterns, (path, why) => leftOut[why].push(path));
  await requireMerged(root, entries);
  return { root, entries, withLogin: leftOut.login, emptyFolders: leftOut.empty };
}

/** The pattern of one folder in an ignore file. None for a folder that is not in the source, or is the source. */
function patternOf(path: string): readonly string[] {
  if (path === '' || path.split(sep)[0] === '..' || isAbsolute(path)) return [];
  const escaped = path.replaceAll(sep, '/').replaceAll(/[\\*?[\]!#\s]/g, '\\$&');
  return [`/${escaped}/`];
}

/** An unfinished merge, rebase or `stash pop` leaves conflict markers in files. Without git, nothing is checked. */
async function requireMerged(root: string, entries: readonly SourceEntry[]): Promise<void> {
  const listed = await gitIn(root)('diff', '--name-only', '--diff-filter=U', '--relative', '-z');
  const unmerged = new Set(listed?.split('\0'));
  const place = entries.find(({ path }) => unmerged.has(path))?.path;
  if (place === undefined) return;
  throw new SlipwayError('SLIPWAY_ARTIFACT_UNMERGED', `${place} has an unresolved merge conflict`, {
    place,
    hint: 'resolve it, and run git add on the file',
  });
}

/**
 * The artifact store of releases. First choice: the file's `artifact.store` (a URL, or a folder relative to the file).
 * Second: `SLIPWAY_ARTIFACT_STORE` (relative to the working folder). Else `artifacts` in Slipway's home. Each release
 * tells the worker which store to use.
 * @throws SlipwayError SLIPWAY_CONFIG_INVALID for a URL with an unsupported scheme.
 */
export function artifactStoreOf({ config, folder }: Project, context: Machine): ArtifactStore {
  const { store } = config.artifact;
  if (store === undefined) return ownArtifactStore(context);
  return openArtifactStore(storeScheme(store) === undefined ? resolve(folder, store) : store);
}

/** The artifact store if no file names one: `SLIPWAY_ARTIFACT_STORE`, else `artifacts` in Slipway's home. */
export function ownArtifactStore({ home, environment }: Machine): ArtifactStore {
  const store = environment['SLIPWAY_ARTIFACT_STORE'] ?? '';
  return openArtifactStore(store === '' ? join(home, 'artifacts') : store);
}

/** A pointer of Git LFS is shorter than this many bytes. */
const POINTER_MAX_BYTES = 1_024;

/**
 * Warns of files with logins, which are left out; of files that a checkout without Git LFS has pointers of; of
 * submodules that it lacks; and of a repository that git refuses. Without git, only of the first.
 */
async function warnOfSource(
  output: Output,
  { root, entries, withLogin, emptyFolders }: SourceToPack,
): Promise<void> {
  if (withLogin.length > 0) {
    output.warn(`left out, because they contain a login of a package registry: ${listedNames(withLogin)}`);
    output.note('  builds run without their settings; keep the login in another file, such as ~/.npmrc');
  }
  const git = gitIn(root, (remedy) => {
    output.warn(
      'git refuses the source’s repository because another user owns it, so nothing is known of it',
    );
    output.note(`  allow it: ${remedy}`);
  });
  const staged = emptyFolders.length === 0 ? '' : await git('ls-files', '--stage', '-z');
  const submodules = emptyFolders.filter((path) => staged?.includes(` 0\t${path}\0`));
  if (submodules.length > 0) {
    output.warn(`the source lacks the files of git submodules: ${listedNames(submodules)}`);
    output.note(
      '  fetch them: git submodule update --init; in GitHub Actions: actions/checkout with submodules: true',
    );
  }
  const listed = await git('ls-files', '-z', ':(attr:filter=lfs)');
  const tracked = new Set(listed?.split('\0'));
  const pointers: string[] = [];
  for (const { path, ...entry } of entries) {
    if (entry.kind !== 'file' || entry.sizeBytes >= POINTER_MAX_BYTES || !tracked.has(path)) continue;
    const text = await readFile(join(root, path), 'utf8').catch((error: unknown) => {
      throw notRead(path, error);
    });
    if (text.startsWith('version https://git-lfs.')) pointers.push(path);
  }
  if (pointers.length === 0) return;
  output.warn(`the source has pointers of Git LFS in place of files: ${listedNames(pointers)}`);
  output.note('  fetch them: git lfs pull; in GitHub Actions: actions/checkout with lfs: true');
}

/**
 * Warns of suspected secrets in a source that is about to be packed.
 * @param strict - throw instead.
 * @throws SlipwayError SLIPWAY_ARTIFACT_HOLDS_SECRET with `strict`, naming the first places.
 */
async function warnOfSecrets(
  output: Output,
  source: SourceToPack,
  strict: boolean,
  signal: AbortSignal,
): Promise<void> {
  // Loaded only if a source is packed: its rules are many.
  const { suspectedSecrets } = await import('../../../artifact/suspectedSecrets.ts');
  const found = await suspectedSecrets({ ...source, signal });
  const [first] = found;
  if (first === undefined) return;
  for (const { path, line, what } of found) output.event({ event: 'suspected_secret', path, line, what });
  const named = listedNames(found.map((secret) => `${placeOf(secret)} (${secret.what})`));
  const problem = `the source contains what looks like a secret: ${named}`;
  if (strict) {
    const hint = 'Exclude it in .slipwayignore, or refer to it: secrets: [{ name: …, from: env:… }].';
    throw new SlipwayError('SLIPWAY_ARTIFACT_HOLDS_SECRET', problem, { place: placeOf(first), hint });
  }
  output.warn(problem);
  output.note('  exclude it in .slipwayignore; --strict rejects such a source');
}

const NAMED = 5;

function listedNames(names: readonly string[]): string {
  const more = names.length - NAMED;
  return names.slice(0, NAMED).join(', ') + (more > 0 ? `, and ${more} more` : '');
}

function placeOf({ path, line }: SuspectedSecret): string {
  return line === null ? path : `${path}:${line}`;
}
