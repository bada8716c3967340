import { execFileSync } from 'node:child_process';
import { readFile, utimes, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

import { afterEach, describe, expect, it, vi } from 'vitest';

import { type Git, gitIn, readRequester, readSource } from '../../src/cli/provenance.ts';
import { temporaryFolder, writeFiles } from '../support/temporaryFolder.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

/** A git that answers from a table, and fails for all else. */
function git(answers: Readonly<Record<string, string>>): Git {
  return (...args) => Promise.resolve(answers[args.slice(0, 2).join(' ')]);
}

function commitAll(folder: string): void {
  for (const words of ['init -q', 'add .', '-c user.name=a -c user.email=a@b.c commit -qm one'])
    execFileSync('git', words.split(' '), { cwd: folder });
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

describe('the source', () => {
  const known = git({
    'rev-list --max-count=1': 'commit abc\n2026-01-01T12:00:00+02:00',
    'symbolic-ref --short': 'topic',
  });

  it('is what CI names, with the commit’s time from git, in UTC', async () => {
    const named = { commit: 'abcdef0', ref: 'main', committedAt: '2026-01-01T10:00:00.000Z' };
    const github = { GITHUB_ACTIONS: 'true', GITHUB_SHA: 'abcdef0', GITHUB_REF_NAME: 'main' };
    expect(await readSource(github, known)).toEqual(named);
    const gitlab = { GITLAB_CI: 'true', CI_COMMIT_SHA: 'abcdef0', CI_COMMIT_REF_NAME: 'main' };
    expect(await readSource(gitlab, known)).toEqual(named);
    // Git has not fetched the commit.
    expect(await readSource(github, git({}))).toEqual({ ...named, committedAt: undefined });
  });

  it('is never read by a name that git takes for an option', async () => {
    const environment = { GITHUB_ACTIONS: 'true', GITHUB_SHA: '--output=x' };
    expect(await readSource(environment, known)).toEqual({ commit: '--output=x', ref: 'topic' });
  });

  it('is what git says, without a time if files differ from their commit', async () => {
    const folder = await temporaryFolder();
    const run = (...args: string[]) =>
      execFileSync('git', args, {
        cwd: folder,
        env: { ...process.env, GIT_COMMITTER_DATE: '1700000000 +0200' },
      })
        .toString()
        .trim();
    run('init', '--quiet', '--initial-branch', 'topic');
    const as = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com'];
    run(...as, 'commit', '--quiet', '--allow-empty', '--message', 'one');
    const commit = run('rev-parse', 'HEAD');
    const committedAt = '2023-11-14T22:13:20.000Z';
    expect(await readSource({}, gitIn(folder))).toEqual({ commit, committedAt, ref: 'topic' });
    run('config', 'status.showUntrackedFiles', 'no');
    await writeFile(join(folder, 'new'), '');
    expect(await readSource({}, gitIn(folder))).toEqual({ commit: `${commit}-dirty`, ref: 'topic' });
  });

  it('is dirty if git names more changes than fit into 1 MiB', async () => {
    const folder = await temporaryFolder();
    const deep = `${'d'.repeat(200)}/`.repeat(15);
    const names = Array.from({ length: 400 }, (_, index) => `${deep}${index}`);
    const write = (text: string) => writeFiles(folder, Object.fromEntries(names.map((name) => [name, text])));
    await write('');
    commitAll(folder);
    await write('changed');
    expect((await readSource({}, gitIn(folder))).commit).toMatch(/-dirty$/);
  });

  it('is dirty if the packed folder, outside of that of slipway.yaml, has changes', async () => {
    const folder = await temporaryFolder();
    await writeFiles(folder, { 'agent/graph.json': '{}', 'deploy/slipway.yaml': '' });
    commitAll(folder);
    const read = () => readSource({}, gitIn(join(folder, 'deploy')), gitIn(join(folder, 'agent')));
    expect((await read()).commit).toMatch(/^[0-9a-f]{40}$/);
    await writeFile(join(folder, 'agent/graph.json'), '{ }');
    expect((await read()).commit).toMatch(/-dirty$/);
  });

  it.each([
    ['assumed unchanged', 'update-index --assume-unchanged agent/graph.json'],
    ['kept out of the worktree', 'update-index --skip-worktree agent/graph.json'],
    ['left out by a sparse checkout', 'sparse-checkout set --no-cone agent/other'],
  ])('is dirty if git hides a file that is %s', async (_, command) => {
    const folder = await temporaryFolder();
    await writeFiles(folder, { 'agent/graph.json': '{}', 'agent/other': '', README: '' });
    commitAll(folder);
    const run = (words: string) => execFileSync('git', words.split(' '), { cwd: folder });
    const commit = async () => (await readSource({}, gitIn(join(folder, 'agent')))).commit;
    run('update-index --skip-worktree README');
    expect(await commit()).toMatch(/^[0-9a-f]{40}$/);
    run(command);
    expect(await commit()).toMatch(/-dirty$/);
  });

  it.each([
    ['this clone', '.git/info/exclude'],
    ['this machine', 'ignored'],
  ])('is dirty if a file that is packed is ignored only on %s', async (_, rules) => {
    const [folder, outside] = [await temporaryFolder(), await temporaryFolder()];
    await writeFiles(folder, { '.gitignore': 'dist\n', 'graph.json': '{}' });
    commitAll(folder);
    const file = rules === 'ignored' ? join(outside, rules) : join(folder, rules);
    execFileSync('git', ['config', 'core.excludesFile', join(outside, 'ignored')], { cwd: folder });
    await writeFile(file, '.env*\n.DS_Store\nnode_modules\nnotes\n');
    const unpacked = {
      '.env': '',
      'a/.DS_Store': '',
      'node_modules/x/y.js': '',
      'dist/a.js': '',
      'a/dist/a': '',
    };
    await writeFiles(folder, { ...unpacked, 'node_modules/z': '' });
    const read = () => readSource({}, gitIn(folder));
    expect((await read()).commit).toMatch(/^[0-9a-f]{40}$/);
    await writeFiles(folder, { 'src/notes': '' });
    expect((await read()).commit).toMatch(/-dirty$/);
  });

  it('is dirty if a submodule is, whose changes the repository ignores', async () => {
    const [folder, library] = [await temporaryFolder(), await temporaryFolder()];
    await writeFiles(library, { 'a.ts': '' });
    commitAll(library);
    execFileSync('git', ['init', '--quiet'], { cwd: folder });
    const add = ['-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library, 'lib'];
    execFileSync('git', add, { cwd: folder });
    execFileSync('git', 'config -f .gitmodules submodule.lib.ignore all'.split(' '), { cwd: folder });
    commitAll(folder);
    expect((await readSource({}, gitIn(folder))).commit).toMatch(/^[0-9a-f]{40}$/);
    await writeFile(join(folder, 'lib/a.ts'), 'changed');
    expect((await readSource({}, gitIn(folder))).commit).toMatch(/-dirty$/);
  });

  it('is read without a write into the repository, which may belong to another user', async () => {
    const folder = await temporaryFolder();
    await writeFiles(folder, { 'graph.json': '{}' });
    commitAll(folder);
    const index = () => readFile(join(folder, '.git/index'));
    const before = await index();
    await utimes(join(folder, 'graph.json'), 1, 1);
    expect((await readSource({}, gitIn(folder))).commit).toMatch(/^[0-9a-f]{40}$/);
    expect(before.equals(await index())).toBe(true);
  });

  it('is not clean if git cannot say what differs', async () => {
    const folder = await temporaryFolder();
    await writeFiles(folder, { 'graph.json': '{}' });
    commitAll(folder);
    await writeFile(join(folder, '.git/index'), 'corrupt');
    const source = await readSource({}, gitIn(folder));
    expect(source.commit).toMatch(/^[0-9a-f]{40}-dirty$/);
    expect(source.committedAt).toBeUndefined();
  });

  it('is that of its own repository, also in a hook of another', async () => {
    const [hooked, folder] = [await temporaryFolder(), await temporaryFolder()];
    for (const each of [hooked, folder]) {
      await writeFiles(each, { [basename(each)]: '' });
      commitAll(each);
    }
    const own = await readSource({}, gitIn(folder));
    vi.stubEnv('GIT_DIR', join(hooked, '.git'));
    vi.stubEnv('GIT_INDEX_FILE', join(hooked, '.git/index'));
    expect(await readSource({}, gitIn(folder))).toEqual(own);
  });

  it('is unknown outside of a repository', async () => {
    expect(await readSource({}, git({}))).toEqual({});
  });
});
