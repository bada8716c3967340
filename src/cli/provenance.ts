import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { type Environment, userName } from '../config/environment.ts';
import { type Actor, reasonLine } from '../domain/actor.ts';
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

/**
 * The source's commit: the one that CI names, else git's, with `-dirty` if files differ from it. `undefined` outside a
 * repository.
 */
export async function sourceCommit(environment: Environment, git: Git): Promise<string | undefined> {
  const named = ciRun(environment)?.commit;
  if (named !== undefined) return named;
  const head = await git('rev-parse', 'HEAD');
  if (head === undefined) return undefined;
  const changes = await git('status', '--porcelain', '--', '.', ':!.slipway');
  return changes === undefined ? head : `${head}-dirty`;
}

/**
 * The commit time of the source's commit, from git. `undefined` outside a repository, if git has not fetched the commit
 * that CI names, or if files differ from it.
 * @param commit - of {@link sourceCommit}.
 */
export async function sourceCommittedAt(git: Git, commit: string | undefined): Promise<string | undefined> {
  if (commit === undefined || !/^[0-9a-f]{7,64}$/u.test(commit)) return undefined;
  const time = Date.parse((await git('show', '--no-patch', '--format=%cI', commit)) ?? '');
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

/** The source's branch or tag: the one that CI names, else git's branch. */
export async function sourceRef(environment: Environment, git: Git): Promise<string | undefined> {
  return ciRun(environment)?.ref ?? (await git('symbolic-ref', '--short', 'HEAD'));
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

export function gitIn(folder: string): Git {
  return async (...args) => {
    try {
      const { stdout } = await promisify(execFile)('git', [...args], { cwd: folder, timeout: 10_000 });
      const text = stdout.trim();
      return text === '' ? undefined : text;
    } catch {
      // A release does not fail because git fails: it records what is known.
      return undefined;
    }
  };
}
