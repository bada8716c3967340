import { access, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { buildRevision } from '../../../src/builder/buildRevision.ts';
import { namesIn } from '../../builder/archives.ts';
import { GitServer } from '../../git/gitServer.ts';
import { Repository } from '../../git/repository.ts';
import { type AnswerBody, TestPlatform } from '../testPlatform.ts';
import { useFolder } from '../../../../../test/support/temporaryFolder.ts';

const TOKEN = 'a-t0ken-of-this-test';
const root = useFolder();
let server: GitServer;
const platform = TestPlatform.use();
let repository: Repository;
let onDisk: string;
let overHttp: string;

beforeAll(async () => {
  server = await GitServer.start(root);
  server.credential = `x-access-token:${TOKEN}`;
  repository = await Repository.create(join(root, 'agent'));
  await repository.commit({ 'graph.json': '{}', 'first.txt': '1' });
  await repository.git('tag', 'v1');
  await repository.commit({ 'second.txt': '2' });
  onDisk = await integration({ url_prefix: root });
  await writeFile(join(root, 'token'), `${TOKEN}\n`);
  overHttp = await integration({ url_prefix: server.url, credential: `file:${join(root, 'token')}` });
});

afterAll(async () => {
  await server.close();
});

function integration(body: Record<string, unknown>): Promise<string> {
  return platform.register('/v1/integrations/github/install', { name: crypto.randomUUID(), ...body });
}

/** Creates a deployment and waits until its first revision has ended. */
async function deploy(
  sourceConfig: Record<string, unknown>,
  ref: string | null = 'main',
): Promise<{ id: string; revision: AnswerBody; log: string }> {
  const id = await platform.create(crypto.randomUUID(), {
    source: 'repo_host',
    source_config: { build_on_push: false, ...sourceConfig },
    source_revision_config: { graph_config_path: 'graph.json', repo_ref: ref },
  });
  return { id, ...(await ended(id)) };
}

/** A deployment's newest revision after its end, and its log. */
async function ended(id: string): Promise<{ revision: AnswerBody; log: string }> {
  const { latest_revision_id: revisionId } = await platform.deployment(id);
  await platform.settles(id, revisionId);
  const logs = await platform.call('POST', `/v1/projects/${id}/revisions/${revisionId}/build_logs`);
  return {
    revision: await platform.revision(id, revisionId),
    log: logs.json.logs.map(({ message }) => message).join('\n'),
  };
}

/** The names in the tarball of each build from now on. */
function buildsWithNames(): string[][] {
  const built: string[][] = [];
  const { onBuild } = platform;
  platform.onBuild = async (build) => {
    built.push(await namesIn(build.tarball));
    return onBuild(build);
  };
  return built;
}

describe('a revision of repo_host', () => {
  it.each([
    ['a branch', 'main', ['first.txt', 'graph.json', 'second.txt'], 'main'],
    ['a tag', 'refs/tags/v1', ['first.txt', 'graph.json'], 'v1'],
    ['the default branch', null, ['first.txt', 'graph.json', 'second.txt'], 'main'],
  ])('is built from %s, and records the commit', async (_what, ref, names, at) => {
    const built = buildsWithNames();
    const { id, revision, log } = await deploy({ integration_id: onDisk, repo_url: repository.path }, ref);
    expect(revision.status).toBe('DEPLOYED');
    expect(built).toEqual([names]);
    const commit = await repository.head(`${at}^{commit}`);
    expect(revision.source_revision_config['repo_commit_sha']).toBe(commit);
    expect((await platform.deployment(id)).source_revision_config['repo_commit_sha']).toBe(commit);
    expect(log).toContain(commit);
    expect(await scratches()).toEqual([]);
  });

  it('is really built, with links inside its tree', async () => {
    await repository.git('checkout', '--quiet', '-b', 'links');
    await repository.commit({
      'graph.json': JSON.stringify({ node_version: '20', graphs: { agent: './src/agent.mjs:graph' } }),
      'src/agent.mjs': 'export const graph = {};\n',
      'link.mjs': '-> src/agent.mjs',
    });
    await repository.git('checkout', '--quiet', 'main');
    platform.onBuild = (build) => buildRevision(build);
    const { id, revision } = await deploy({ integration_id: onDisk, repo_url: repository.path }, 'links');
    expect(revision).toMatchObject({ status: 'DEPLOYED' });
    const workspace = join(platform.home, 'builds', id, revision.id);
    expect(await readdir(workspace)).toEqual(['first.txt', 'graph.json', 'link.mjs', 'second.txt', 'src']);
  });

  it('of a private repository is built with the credential of its integration, which never appears', async () => {
    const { revision, log } = await deploy({
      integration_id: overHttp,
      repo_url: `${server.url}/agent/.git`,
    });
    expect(revision.status).toBe('DEPLOYED');
    expect(log + JSON.stringify(revision) + platform.logged.join('\n')).not.toContain(TOKEN);
  });

  it('is built although its host is away for a moment', async () => {
    server.failures = 1;
    const { revision, log } = await deploy({
      integration_id: overHttp,
      repo_url: `${server.url}/agent/.git`,
    });
    expect(revision.status, log).toBe('DEPLOYED');
    expect(log).toContain('could not be reached');
  });

  it('reports a skipped submodule', async () => {
    const outer = await Repository.create(join(root, 'outer'));
    await outer.git(
      '-c',
      'protocol.file.allow=always',
      'submodule',
      '--quiet',
      'add',
      repository.path,
      'inner',
    );
    await outer.commit({ 'graph.json': '{}' });
    const built = buildsWithNames();
    const { revision, log } = await deploy({ integration_id: onDisk, repo_url: outer.path });
    expect(revision.status).toBe('DEPLOYED');
    expect(log).toContain('submodules');
    expect(built).toEqual([['.gitmodules', 'graph.json', 'inner/']]);
  });

  it('that is requested again reuses the build; if that is gone, the same commit is built again', async () => {
    const moving = await Repository.create(join(root, 'moving'));
    await moving.commit({ 'graph.json': '{}', 'old.txt': '' });
    const { id, revision } = await deploy({ integration_id: onDisk, repo_url: moving.path });
    await moving.commit({ 'new.txt': '' });
    const builds = platform.builds.length;
    await platform.redeploy(id, revision.id);
    await platform.reaches(id, revision.id, 'DEPLOYED');
    expect(platform.builds).toHaveLength(builds);

    await rm(join(platform.home, 'builds', id, revision.id), { recursive: true });
    const built = buildsWithNames();
    await platform.redeploy(id, revision.id);
    await platform.settles(id, revision.id);
    expect(built).toEqual([['graph.json', 'old.txt']]);
    // A new revision, however, uses the branch's present commit.
    await platform.patch(id, { secrets: [] });
    const { revision: next } = await ended(id);
    expect(next.source_revision_config['repo_commit_sha']).toBe(await moving.head());
    expect(built.at(-1)).toEqual(['graph.json', 'new.txt', 'old.txt']);
  });
});

describe('a revision of repo_host fails with a reason', () => {
  // Other failures of git are in `git/commitTarball.test.ts`.
  it('for a branch that does not exist', async () => {
    const { revision, log } = await deploy({ integration_id: onDisk, repo_url: repository.path }, 'nowhere');
    expect(revision.status).toBe('BUILD_FAILED');
    for (const told of [revision.status_message, log]) expect(told).toMatch(/no branch "nowhere"/);
  });

  it('for a rejected or missing credential, without showing it', async () => {
    await writeFile(join(root, 'wrong-token'), 'not-the-t0ken');
    const wrong = await integration({
      url_prefix: server.url,
      credential: `file:${join(root, 'wrong-token')}`,
    });
    const { revision, log } = await deploy({ integration_id: wrong, repo_url: `${server.url}/agent/.git` });
    expect(revision.status_message).toMatch(/rejected the credential/);
    expect(log + (revision.status_message ?? '')).not.toContain('not-the-t0ken');
    const unset = await integration({ url_prefix: server.url, credential: 'env:SLIPWAY_TEST_UNSET' });
    const { revision: second } = await deploy({
      integration_id: unset,
      repo_url: `${server.url}/agent/.git`,
    });
    expect(second.status_message).toMatch(/missing: env:SLIPWAY_TEST_UNSET does not exist/);
  });

  it('if its host hangs; it can be cancelled and leaves nothing', async () => {
    const hanging = await GitServer.start(root);
    onTestFinished(() => hanging.close());
    hanging.hangs = true;
    const id = await platform.create('hanging', {
      source: 'repo_host',
      source_config: { repo_url: `${hanging.url}/agent`, build_on_push: false },
      source_revision_config: { graph_config_path: 'graph.json' },
    });
    const { latest_revision_id: revisionId } = await platform.deployment(id);
    await platform.reaches(id, revisionId, 'BUILDING');
    await platform.call('POST', `/v2/deployments/${id}/revisions/${revisionId}/interrupt`);
    await platform.reaches(id, revisionId, 'INTERRUPTED');
    await expect.poll(scratches).toEqual([]);
  });
});

it('The files of a killed build are removed at the next start', async () => {
  platform.hangIn('BUILDING');
  const id = await platform.create('killed', {
    source: 'repo_host',
    source_config: { integration_id: onDisk, repo_url: repository.path, build_on_push: false },
    source_revision_config: { graph_config_path: 'graph.json' },
  });
  const { latest_revision_id: revisionId } = await platform.deployment(id);
  await expect.poll(async () => (await scratches()).length).toBe(1);
  await expect.poll(() => platform.builds.some((build) => build.workspace.includes(revisionId))).toBe(true);
  platform.playAsUsual();
  await platform.start();
  await platform.reaches(id, revisionId, 'DEPLOYED');
  await expect.poll(scratches).toEqual([]);
});

async function scratches(): Promise<string[]> {
  const directory = join(platform.home, 'scratch');
  return access(directory).then(
    () => readdir(directory),
    () => [],
  );
}
