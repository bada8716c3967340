import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { GitFailure, type GitContext, runGit } from './gitCommand.ts';
import type { Remote } from './gitUrl.ts';
import { fullName } from './remoteRefs.ts';

/** The errors of a server that sends only commits that its refs point to. */
const ONLY_REFS_ERROR = /not our ref|unadvertised object|does not allow request|remote error: want/i;
const KEPT = 'refs/slipway/source';

/**
 * Fetches one commit, without its history, and makes a gzipped tarball of its tree in `scratch`.
 *
 * The builder gets the tree as an archive, never as a checkout. So the rules for uploaded sources apply (links that
 * lead outside, too many files). No hooks or filters run, and the workspace has no `.git` with its origin.
 * Decision: submodules are not fetched, because the source chooses their addresses, not a person with that
 * permission. Their directories stay empty, and the log says so. Git LFS files stay pointers.
 * @param wanted - the commit, and its `repo_ref`; null: the default branch.
 * @returns The tarball's path.
 * @throws GitFailure if the commit is not available.
 */
export async function commitTarball(
  remote: Remote,
  wanted: { readonly commit: string; readonly ref: string | null },
  surroundings: GitContext,
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
    if (!(error instanceof GitFailure && ONLY_REFS_ERROR.test(error.message))) throw error;
    // This server sends only commits that its refs point to, so search the history of the ref.
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
  // Disable the attributes that exclude files from archives or rewrite them; they are meant for published archives.
  await mkdir(join(directory, 'info'), { recursive: true });
  await writeFile(join(directory, 'info', 'attributes'), '* -export-ignore -export-subst\n');
  const tarball = join(scratch, 'source.tar.gz');
  await onDisk('archive', '--format=tar.gz', '-1', '-o', tarball, tree);
  return tarball;
}
