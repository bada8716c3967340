import { execFileSync } from 'node:child_process';

import { describe, expect, it } from 'vitest';

import {
  type Git,
  readRequester,
  sourceCommit,
  sourceCommittedAt,
  sourceRef,
} from '../../src/cli/provenance.ts';
import { temporaryFolder } from '../support/temporaryFolder.ts';

/** A git that answers from a table, and fails for all else. */
function git(answers: Readonly<Record<string, string>>): Git {
  return (...args) => Promise.resolve(answers[args.slice(0, 2).join(' ')]);
}

describe('the requester', () => {
  it('is in CI who triggered the run or the job, from there', async () => {
    const github = { GITHUB_ACTOR: 'ada', GITHUB_REPOSITORY: 'acme/agent', GITHUB_RUN_ID: '42' };
    const from = 'https://github.com/acme/agent/actions/runs/42';
    for (const [environment, actor] of [
      [
        { CI: 'true', GITHUB_ACTIONS: 'true', ...github },
        { who: 'ada', from },
      ],
      [
        { CI: 'true', GITLAB_CI: 'true', GITLAB_USER_LOGIN: 'ada', CI_JOB_URL: 'https://gl/1' },
        { who: 'ada', from: 'https://gl/1' },
      ],
      [{ CI: '1' }, { who: 'ci', from: 'ci' }],
      [{ BUILD_URL: 'https://j/1' }, { who: 'ci', from: 'https://j/1' }],
    ] as const) {
      expect(await readRequester({ environment }, '.', 'faster')).toEqual({ ...actor, reason: 'faster' });
    }
  });

  it('is at a terminal git’s user', async () => {
    const folder = await temporaryFolder();
    execFileSync('git', ['init', '--quiet'], { cwd: folder });
    execFileSync('git', ['config', 'user.email', 'ada@example.com'], { cwd: folder });
    const actor = await readRequester({ environment: {} }, folder, undefined);
    expect(actor).toEqual({ who: 'ada@example.com', from: 'cli' });
  });

  it.each([
    ['a whole commit message', `a title\n\n- ${'und so weiter, '.repeat(99)}`, /^a title - und so .*…$/u],
    ['no text', ' \n', undefined],
  ])('gives %s as a reason that targets accept', async (_, given, kept) => {
    const { reason } = await readRequester({ environment: { CI: '1' } }, '.', given);
    if (kept === undefined) expect(reason).toBeUndefined();
    else expect(reason).toMatch(kept);
    expect(reason?.length ?? 0).toBeLessThanOrEqual(1_000);
  });

  it('is the system’s user if git does not answer', async () => {
    const actor = await readRequester({ environment: {} }, '/no/such/folder', undefined);
    expect(actor.who).not.toBe('');
  });
});

describe('the commit', () => {
  it('is the one that CI names', async () => {
    const known = git({ 'rev-parse HEAD': 'other', 'status --porcelain': ' M built.js' });
    expect(await sourceCommit({ GITHUB_ACTIONS: 'true', GITHUB_SHA: 'abc' }, known)).toBe('abc');
    expect(await sourceCommit({ GITLAB_CI: 'true', CI_COMMIT_SHA: 'def' }, known)).toBe('def');
  });

  it('is git’s HEAD, marked if files differ from it', async () => {
    expect(await sourceCommit({}, git({ 'rev-parse HEAD': 'abc' }))).toBe('abc');
    const dirty = git({ 'rev-parse HEAD': 'abc', 'status --porcelain': ' M a.ts' });
    expect(await sourceCommit({}, dirty)).toBe('abc-dirty');
  });

  it('is unknown outside of a repository', async () => {
    expect(await sourceCommit({}, git({}))).toBeUndefined();
  });
});

describe('the commit’s time', () => {
  const known = git({ 'show --no-patch': '2026-01-01T12:00:00+02:00' });

  it('comes from git, in UTC', async () => {
    expect(await sourceCommittedAt(known, 'abcdef0')).toBe('2026-01-01T10:00:00.000Z');
  });

  it('is unknown for files that differ from their commit, or if git does not have it', async () => {
    expect(await sourceCommittedAt(known, 'abcdef0-dirty')).toBeUndefined();
    expect(await sourceCommittedAt(known, undefined)).toBeUndefined();
    expect(await sourceCommittedAt(git({}), 'abcdef0')).toBeUndefined();
  });

  it('is never read by a name that git takes for an option', async () => {
    expect(await sourceCommittedAt(known, '--output=x')).toBeUndefined();
  });
});

describe('the branch or tag', () => {
  it('is the one that CI names, else the branch of git', async () => {
    const known = git({ 'symbolic-ref --short': 'topic' });
    expect(await sourceRef({ GITHUB_ACTIONS: 'true', GITHUB_REF_NAME: 'main' }, known)).toBe('main');
    expect(await sourceRef({}, known)).toBe('topic');
  });
});
