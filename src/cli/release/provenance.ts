import { execFile } from 'node:child_process';
import { userInfo } from 'node:os';
import { promisify } from 'node:util';

import { type Actor } from '../../domain/release.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Runs git in a folder; `undefined` where it does not answer: no git, no repository, nothing configured. */
export type Git = (...args: readonly string[]) => Promise<string | undefined>;

/**
 * Who asks, and from where: in CI the one who triggered the run, and the run's URL; elsewhere the name that git commits
 * under, else the user's, and `cli`.
 */
export async function whoAsks(
  environment: Environment,
  git: Git,
  reason: string | undefined,
): Promise<Actor> {
  const ci = ciRun(environment);
  const who = ci?.who ?? (await git('config', 'user.email')) ?? userName();
  return { who, from: ci?.from ?? 'cli', ...(reason === undefined ? {} : { reason }) };
}

/**
 * The commit that the source stands at: the one that CI names, else git's, with `-dirty` where files differ from it.
 * `undefined` outside of a repository.
 *
 * @param git - in the source's folder.
 */
export async function sourceCommit(environment: Environment, git: Git): Promise<string | undefined> {
  const named = firstSet(environment, [
    'GITHUB_SHA',
    'CI_COMMIT_SHA',
    'GIT_COMMIT',
    'CIRCLE_SHA1',
    'BUILDKITE_COMMIT',
  ]);
  if (named !== undefined) return named;
  const head = await git('rev-parse', 'HEAD');
  if (head === undefined) return undefined;
  const changes = await git('status', '--porcelain', '--', '.', ':!.slipway');
  return changes === undefined ? head : `${head}-dirty`;
}

/** Git in a folder. */
export function gitIn(folder: string): Git {
  return async (...args) => {
    try {
      const { stdout } = await promisify(execFile)('git', [...args], { cwd: folder, timeout: 10_000 });
      const text = stdout.trim();
      return text === '' ? undefined : text;
    } catch {
      // Not knowing who and where is no reason not to release: it is recorded as far as it is known.
      return undefined;
    }
  };
}

function ciRun(environment: Environment): { readonly who: string; readonly from: string } | undefined {
  const { GITHUB_ACTIONS, GITHUB_SERVER_URL, GITHUB_REPOSITORY, GITHUB_RUN_ID, GITHUB_ACTOR } = environment;
  if (isSet(GITHUB_ACTIONS)) {
    const named = isSet(GITHUB_REPOSITORY) && isSet(GITHUB_RUN_ID);
    const server = GITHUB_SERVER_URL ?? 'https://github.com';
    return {
      who: GITHUB_ACTOR ?? 'ci',
      from: named ? `${server}/${GITHUB_REPOSITORY}/actions/runs/${GITHUB_RUN_ID}` : 'github actions',
    };
  }
  if (isSet(environment['GITLAB_CI'])) {
    return {
      who: firstSet(environment, ['GITLAB_USER_LOGIN', 'GITLAB_USER_EMAIL']) ?? 'ci',
      from: environment['CI_JOB_URL'] ?? 'gitlab ci',
    };
  }
  const url = firstSet(environment, ['BUILD_URL', 'CIRCLE_BUILD_URL', 'BUILDKITE_BUILD_URL']);
  if (url === undefined && !isSet(environment['CI'])) return undefined;
  const who = firstSet(environment, ['BUILD_USER', 'CIRCLE_USERNAME', 'BUILDKITE_BUILD_CREATOR']) ?? 'ci';
  return { who, from: url ?? 'ci' };
}

function firstSet(environment: Environment, names: readonly string[]): string | undefined {
  return names.map((name) => environment[name]).find(isSet);
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== '' && value !== 'false';
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container's user need not have a name.
    return 'unknown';
  }
}
