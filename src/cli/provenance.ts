import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { isNeverPacked } from '../artifact/sourceFiles.ts';
import { type Environment, userName } from '../config/environment.ts';
import { type Actor, reasonLine } from '../domain/actor.ts';
import type { ReleaseRequest } from '../domain/release/release.ts';
import { ciRun } from './ci/ciRun.ts';
import type { CommandContext } from './context.ts';

/** Runs git in a folder; `undefined` if it fails: no git, no repository, nothing configured. */
export type Git = (...args: readonly string[]) => Promise<string | undefined>;

/** The requester and the origin: CI's, else git's `user.name` or the system user, and `cli`. */
export async function readRequester(
  { environment }: Pick<CommandContext, 'environment'>,
  folder: string,
  reason: string | undefined,
): Promise<Actor> {
  const ci = ciRun(environment);
  const who = ci?.who ?? (await gitIn(folder)('config', 'user.email')) ?? userName();
  // A job may pass on a whole commit message, or an empty variable.
  const line = reasonLine(reason ?? '');
  return { who, from: ci?.from ?? 'cli', reason: line === '' ? undefined : line };
}

export type Source = Pick<ReleaseRequest, 'commit' | 'committedAt' | 'ref'>;

/**
 * The source's commit, its time, and its branch or tag: what CI names, else what git says. Each is `undefined` if it is
 * unknown.
 * @param git - in the folder of `slipway.yaml`. `source`: in the packed folder, which may be outside of that.
 */
export async function readSource(environment: Environment, git: Git, source = git): Promise<Source> {
  const ci = ciRun(environment);
  const [commit, ref] = await Promise.all([
    ci?.commit === undefined ? ownCommit(git, source) : namedCommit(git, ci.commit),
    ci?.ref ?? git('symbolic-ref', '--short', 'HEAD'),
  ]);
  return { ...commit, ref };
}

/** Git's commit, with `-dirty` and without its time if files differ from it, or git cannot say. */
async function ownCommit(git: Git, source: Git): Promise<Omit<Source, 'ref'>> {
  const head = await readCommit(git, 'HEAD');
  if (head === undefined) return {};
  // The branch is a line before the changes: no text is a failure. A person's git may hide new files and submodules.
  const shown = ['--branch', '--no-ahead-behind', '--untracked-files=normal', '--ignore-submodules=none'];
  const here = ['--', '.', ':!.slipway'];
  const untracked = ['--others', '--exclude=node_modules', '--exclude-per-directory=.gitignore'];
  const [files, found, ...answers] = await Promise.all([
    source('ls-files', '-v', ...here),
    source('ls-files', '-z', ...untracked, ...here),
    ...[...new Set([git, source])].map((each) => each('status', '--porcelain', ...shown, ...here)),
  ]);
  // Git does not compare files with another mark than H: a sparse checkout lacks them, or a person hides changes.
  // Nor does it show what only this clone or this machine ignores, which is packed.
  const isHidden =
    /^[^H]/mu.test(files ?? '') || found?.split('\0').some((path) => path !== '' && !isNeverPacked(path));
  if (isHidden !== true && answers.every((answer) => answer?.includes('\n') === false)) return head;
  return { commit: `${head.commit}-dirty` };
}

/** The commit that CI names. Git may not have fetched it. */
async function namedCommit(git: Git, commit: string): Promise<Omit<Source, 'ref'>> {
  const isId = /^[0-9a-f]{7,64}$/u.test(commit);
  return { commit, committedAt: isId ? (await readCommit(git, commit))?.committedAt : undefined };
}

async function readCommit(git: Git, name: string) {
  const text = (await git('rev-list', '--max-count=1', '--format=%cI', name)) ?? '';
  const { commit, time = '' } = /^commit (?<commit>\w+)\n(?<time>.+)$/u.exec(text)?.groups ?? {};
  const at = Date.parse(time);
  if (commit === undefined) return undefined;
  return { commit, committedAt: Number.isNaN(at) ? undefined : new Date(at).toISOString() };
}

/** The source's repository on its host, `owner/name`: from GitHub Actions, else from the remote `origin`. */
export async function sourceRepository(environment: Environment, git: Git): Promise<string | undefined> {
  const named = ciRun(environment)?.system === 'github' ? environment['GITHUB_REPOSITORY'] : undefined;
  if (named !== undefined && named !== '') return named;
  const remote = await git('remote', 'get-url', 'origin');
  return /[/:](?<repository>[\w.-]+\/[\w.-]+?)(?:\.git)?\/?$/u.exec(remote ?? '')?.groups?.['repository'];
}

/** The repository of the source's pull requests: the one that CI names, else that of the remote `origin`. */
export async function sourceProject(environment: Environment, git: Git): Promise<string | undefined> {
  const system = ciRun(environment)?.system ?? '';
  const named = environment[PROJECT_VARIABLES.get(system) ?? ''] ?? '';
  if (named !== '') return named;
  const remote = (await git('remote', 'get-url', 'origin')) ?? '';
  const path = remote.replace(/^[a-z+]+:\/\/[^/]+\/|^[^/:]+:/u, '').replace(/(?:\.git)?\/?$/u, '');
  return /^[\w.-]+(?:\/[\w.-]+)+$/u.test(path) ? path : undefined;
}

const PROJECT_VARIABLES: ReadonlyMap<string, string> = new Map([
  ['github', 'GITHUB_REPOSITORY'],
  ['gitlab', 'CI_PROJECT_PATH'],
]);

/**
 * In a hook, git's variables name the hook's repository. The locale is for errors, which are recognized by their text.
 * `git status` would lock the index and write it again, as the user of this process.
 */
const GIT_ENVIRONMENT = {
  GIT_DIR: undefined,
  GIT_WORK_TREE: undefined,
  GIT_COMMON_DIR: undefined,
  GIT_INDEX_FILE: undefined,
  GIT_OBJECT_DIRECTORY: undefined,
  GIT_ALTERNATE_OBJECT_DIRECTORIES: undefined,
  GIT_PREFIX: undefined,
  GIT_OPTIONAL_LOCKS: '0',
  LC_ALL: 'C',
};

/**
 * Git for the repository of a folder.
 * @param refused - called if git refuses the repository because another user owns it, with the command that allows it.
 */
export function gitIn(folder: string, refused?: (remedy: string) => void): Git {
  return async (...args) => {
    try {
      const env = { ...process.env, ...GIT_ENVIRONMENT };
      const options = { cwd: folder, env, timeout: 10_000, maxBuffer: Infinity };
      const { stdout } = await promisify(execFile)('git', [...args], options);
      // A name of a file may begin with a space.
      const text = stdout.trimEnd();
      return text === '' ? undefined : text;
    } catch (error) {
      // A release does not fail because git fails: it records what is known.
      const remedy = /git config --global --add safe\.directory .+/u.exec(String(error))?.[0];
      if (remedy !== undefined) refused?.(remedy);
      return undefined;
    }
  };
}
