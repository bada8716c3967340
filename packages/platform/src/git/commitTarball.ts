import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { GitFailure, type GitSurroundings, runGit } from './gitCommand.ts';
import type { Remote } from './gitUrl.ts';
import { fullName } from './remoteRefs.ts';

/** Which commit is wanted, and where it was seen. */
export interface WantedCommit {
  readonly commit: string;
  /** As `repo_ref` has it; null: the default branch. */
  readonly ref: string | null;
}

/** What a server says that gives out only what its refs lead to. */
const ONLY_REFS = /not our ref|unadvertised object|does not allow request|remote error: want/i;
const KEPT = 'refs/slipway/source';

/**
 * Fetches one commit, without its history, and makes a gzipped tarball of its tree in `scratch`.
 *
 * The tree goes to the builder as an archive, and never as a checkout: whatever is in it (links that lead outside, too
 * many files) is judged by the rules for uploaded sources, no hook or filter of anybody runs, and the workspace has no
 * `.git` that could remember where it came from. Decision: submodules are not fetched, because their addresses come
 * from the source and not from whoever may choose them; their directories stay empty, and the log says so. What is kept
 * in Git LFS stays a pointer.
 * @returns The tarball's path.
 * @throws GitFailure when the commit is not to be had.
 */
export async function commitTarball(
  remote: Remote,
  wanted: WantedCommit,
  surroundings: GitSurroundings,
  log: (line: string) => void,
): Promise<string> {
  const { scratch, limits } = surroundings;
  const directory = join(scratch, 'repository.git');
  const onDisk = (...args: string[]) =>
    runGit(
      { remote: null, args: ['--git-dir', directory, ...args], timeoutMs: limits.fetchTimeoutMs },
      surroundings,
    );
  const fetch = (from: string, ...depth: string[]) =>
    runGit(
      {
        remote,
        args: [
          '--git-dir',
          directory,
          'fetch',
          '--quiet',
          '--no-tags',
          '--no-recurse-submodules',
          ...depth,
          '--',
          remote.url.text,
          `+${from}:${KEPT}`,
        ],
        timeoutMs: limits.fetchTimeoutMs,
        onLine: log,
      },
      surroundings,
    );
  await onDisk('init', '--quiet', '--bare', '--template=');
  try {
    await fetch(wanted.commit, '--depth=1');
  } catch (error) {
    if (!(error instanceof GitFailure && ONLY_REFS.test(error.message))) throw error;
    // A server that gives out only what its refs lead to: the commit may be in the history of its ref.
    log('The host does not give out a single commit, so the history of the ref is fetched.');
    await fetch(wanted.ref === null ? 'HEAD' : fullName(wanted.ref));
  }
  const tree = `${wanted.commit}^{tree}`;
  await onDisk('cat-file', '-e', tree).catch(() => {
    throw new GitFailure(
      `${remote.url.text} has no commit ${wanted.commit} any more: its history was rewritten.`,
    );
  });
  const { length: submodules } = await onDisk('ls-tree', wanted.commit, '.gitmodules');
  if (submodules > 0)
    log('The repository has submodules. They are not fetched: their directories are empty.');
  // Of all attributes, those that leave files out of archives or rewrite them are for archives that are published.
  await mkdir(join(directory, 'info'), { recursive: true });
  await writeFile(join(directory, 'info', 'attributes'), '* -export-ignore -export-subst\n');
  const tarball = join(scratch, 'source.tar.gz');
  await onDisk('archive', '--format=tar.gz', '-1', '-o', tarball, tree);
  return tarball;
}
