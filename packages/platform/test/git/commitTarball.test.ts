import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';

import { commitTarball } from '../../src/git/commitTarball.ts';
import { DEFAULT_GIT_LIMITS, GitFailure, type GitContext, requireGit } from '../../src/git/gitCommand.ts';
import { type Credential, readGitUrl, type Remote } from '../../src/git/gitUrl.ts';
import { readRemoteRef } from '../../src/git/remoteRefs.ts';
import { useFolder } from '../../../../test/support/temporaryFolder.ts';
import { namesIn } from '../builder/archives.ts';
import { GitServer } from './gitServer.ts';
import { Repository } from './repository.ts';

const root = useFolder();
let server: GitServer;
let repository: Repository;
let first: string;
let second: string;

beforeAll(async () => {
  server = await GitServer.start(root);
  repository = await Repository.create(join(root, 'agent'));
  first = await repository.commit({
    'graph.json': '{}',
    'secret.txt': 'export me',
    '.gitattributes': 'secret.txt export-ignore\n',
  });
  await repository.git('tag', '--annotate', 'v1', '--message', 'one');
  await repository.git('branch', 'feature/one');
  second = await repository.commit({ 'graph.json': '{ }' });
});

afterAll(async () => {
  await server.close();
});
afterEach(() => void vi.unstubAllEnvs());

async function surroundings(over: Partial<GitContext['limits']> = {}): Promise<GitContext> {
  const scratch = await mkdtemp(join(root, 'scratch-'));
  return {
    scratch,
    knownHosts: join(root, 'known_hosts'),
    limits: { ...DEFAULT_GIT_LIMITS, ...over },
    signal: new AbortController().signal,
  };
}

function remoteAt(text: string, credential: Credential | null = null): Remote {
  const reading = readGitUrl(text);
  if (!reading.ok) throw new Error(reading.why);
  return { url: reading.url, credential };
}

const resolved = async (remote: Remote, ref: string | null = null) =>
  readRemoteRef(remote, ref, await surroundings());

const places = [
  ['over http', () => `${server.url}/agent/.git`],
  ['on the disk', () => repository.path],
  ['as a file URL', () => `file://${repository.path}`],
] as const;

describe.each(places)('a repository %s', (_place, address) => {
  it('resolves its branches, its tags and its default branch', async () => {
    const remote = remoteAt(address());
    for (const [ref, name, commit] of [
      [null, 'refs/heads/main', second],
      ['feature/one', 'refs/heads/feature/one', first],
      ['refs/tags/v1', 'refs/tags/v1', first],
    ] as const)
      expect(await resolved(remote, ref)).toEqual({ name, commit });
  });

  it('exports one commit as a tarball of all its files, even if no branch contains it', async () => {
    for (const commit of [first, second]) {
      const at = await surroundings();
      const tarball = await commitTarball(remoteAt(address()), { commit, ref: 'main' }, at, () => undefined);
      expect(await namesIn(tarball)).toEqual(['.gitattributes', 'graph.json', 'secret.txt']);
    }
  });

  it.each([['nowhere'], ['refs/tags/v9']])('without the ref %s reports that', async (ref) => {
    await expect(resolved(remoteAt(address()), ref)).rejects.toThrow(/has no (branch "nowhere"|tag "v9")/);
  });

  it('with a rewritten history reports that the commit is gone', async () => {
    const gone = '1234567890123456789012345678901234567890';
    const wanted = { commit: gone, ref: 'main' };
    await expect(
      commitTarball(remoteAt(address()), wanted, await surroundings(), () => undefined),
    ).rejects.toThrow(/history was rewritten/);
  });
});

describe('a git failure', () => {
  it('is a repository that does not exist', async () => {
    for (const address of [`${server.url}/nothing`, join(root, 'nothing')])
      await expect(resolved(remoteAt(address))).rejects.toThrow(/no git repository/);
  });

  it('is a host that does not answer the connection', async () => {
    await expect(resolved(remoteAt(`http://127.0.0.1:9/agent`))).rejects.toThrow(/could not be reached/);
  });

  it('is a host that hangs: a timeout ends it, and leaves no git process', async () => {
    const hanging = await GitServer.start(root);
    onTestFinished(() => hanging.close());
    hanging.hangs = true;
    const at = await surroundings({ askTimeoutMs: 300 });
    await expect(readRemoteRef(remoteAt(`${hanging.url}/agent`), null, at)).rejects.toThrow(/within 0.3 s/);
  });

  it('is a repository above the size limit', async () => {
    const large = await Repository.create(join(root, 'large'));
    const commit = await large.commit({ noise: randomBytes(50_000).toString('base64') });
    await expect(
      commitTarball(
        remoteAt(large.path),
        { commit, ref: 'main' },
        await surroundings({ fileBytes: 10_000 }),
        () => undefined,
      ),
    ).rejects.toThrow(/larger than this platform takes/);
  });

  it('is a machine without git', async () => {
    vi.stubEnv('PATH', root);
    await expect(requireGit(await surroundings())).rejects.toThrow(/its machine has none/);
  });

  it('is a git that is too old', async () => {
    const bin = join(root, 'bin');
    await mkdir(bin);
    await writeFile(join(bin, 'git'), '#!/bin/sh\necho git version 2.17.1\n', { mode: 0o755 });
    vi.stubEnv('PATH', `${bin}:${process.env['PATH']}`);
    await expect(requireGit(await surroundings())).rejects.toThrow(/git 2.30 or newer.*2\.17\.1/);
  });

  it('is never caused by a user’s configuration, hook or prompt', async () => {
    const home = join(root, 'home');
    await mkdir(home);
    await writeFile(join(home, '.gitconfig'), `[url "file:///nowhere/"]\n insteadOf = ${repository.path}\n`);
    vi.stubEnv('HOME', home);
    expect(await resolved(remoteAt(repository.path))).toMatchObject({ commit: second });
  });
});

describe('a credential', () => {
  const secret = 'tok3n with "quotes" $and %signs\\';

  async function locked(): Promise<GitServer> {
    const host = await GitServer.start(root);
    onTestFinished(() => host.close());
    host.credential = `x-access-token:${secret}`;
    return host;
  }

  it('gives access to a repository, and is not stored on disk', async () => {
    const host = await locked();
    const remote = remoteAt(`${host.url}/agent/.git`, { username: 'x-access-token', secret });
    const at = await surroundings();
    const said: string[] = [];
    const { commit } = await readRemoteRef(remote, null, at);
    const tarball = await commitTarball(remote, { commit, ref: null }, at, (line) => void said.push(line));
    expect(await namesIn(tarball)).toContain('graph.json');
    for (const name of await readdir(at.scratch, { recursive: true, withFileTypes: true })) {
      if (name.isFile())
        expect(await readFile(join(name.parentPath, name.name), 'latin1')).not.toContain('tok3n');
    }
    expect(said.join('\n')).not.toContain('tok3n');
  });

  it('that is wrong is distinguished from a missing one, and neither is shown', async () => {
    const host = await locked();
    const address = `${host.url}/agent/.git`;
    const wrong = await refusal(remoteAt(address, { username: 'x-access-token', secret: 'wr0ng' }));
    expect(wrong).toMatch(/rejected the credential/);
    expect(wrong).not.toContain('wr0ng');
    expect(await refusal(remoteAt(address))).toMatch(/needs an integration/);
  });

  it('is not sent along a redirect', async () => {
    const host = await locked();
    const thief = await GitServer.start(root);
    onTestFinished(() => thief.close());
    thief.credential = 'nobody:knows';
    host.redirectTo = thief.url;
    const remote = remoteAt(`${host.url}/agent/.git`, { username: 'x-access-token', secret });
    // The attacker's server gets no credential: its own 401 is the result.
    expect(await refusal(remote)).toMatch(/asks for a credential|rejected/);
    expect(thief.requests).not.toEqual([]);
    expect(thief.authorizations).toEqual([]);
  });

  async function refusal(remote: Remote): Promise<string> {
    const error: unknown = await resolved(remote).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(GitFailure);
    return (error as GitFailure).message;
  }
});
