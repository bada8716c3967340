import { mkdir, readdir, writeFile } from 'node:fs/promises';

import { describe, expect, it, vi } from 'vitest';

import { homeLayout, pathExists } from '../../src/controlPlane/homeLayout.ts';
import { removeOldBuilds } from '../../src/controlPlane/retention.ts';
import { aborted, TestPlatform } from './testPlatform.ts';

const platform = TestPlatform.use({ sourcesKept: 2 });

const sourcesOf = async (id: string): Promise<string[]> =>
  (await readdir(`${platform.home}/objects/tarballs/${id}`)).sort();

/** Releases so many revisions, one after another. Returns each with the name of its source's file. */
async function releases(id: string, count: number, status: 'DEPLOYED' | 'BUILD_FAILED') {
  const made: { revision: string; source: string }[] = [];
  for (let i = 0; i < count; i++) {
    const revision = await platform.release(id, status);
    const config = (await platform.deployment(id)).source_revision_config;
    made.push({ revision, source: String(config['source_tarball_path']).split('/').at(-1)! });
  }
  return made;
}

describe('a build', () => {
  it('stays if its revision is redeployed while old builds are removed', async () => {
    const id = await platform.create('redeployed');
    const revision = await platform.release(id, 'DEPLOYED');
    const build = homeLayout(platform.home).build(id, revision);
    const row = platform.kysely.selectFrom('revisions').select('agent_dir').where('id', '=', revision);
    const built = await row.executeTakeFirstOrThrow();
    await releases(id, 5, 'DEPLOYED');
    await vi.waitFor(async () => expect(await pathExists(build)).toBe(false), 10_000);
    await mkdir(`${build}/src`, { recursive: true });
    await platform.kysely.updateTable('revisions').set(built).where('id', '=', revision).execute();
    const removal = new AbortController();
    platform.onStart = () => aborted(removal.signal);
    const kysely = platform.kysely.withPlugin({
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        if (result.rows.length === 6) await platform.redeploy(id, revision);
        return result;
      },
    });
    await removeOldBuilds(kysely, homeLayout(platform.home), id);
    expect(await pathExists(build)).toBe(true);
    removal.abort();
    await platform.reaches(id, revision, 'DEPLOYED');
  });
});

describe('an uploaded source', () => {
  it('stays while its revision is kept or among the newest, and a redeploy reports a missing one', async () => {
    const id = await platform.create('bounded');
    const made = await releases(id, 7, 'DEPLOYED');
    // Five stay built.
    await vi.waitFor(
      async () =>
        expect(await sourcesOf(id)).toEqual(
          made
            .slice(2)
            .map(({ source }) => source)
            .sort(),
        ),
      10_000,
    );
    const revisions = made.slice(2).map(({ revision }) => revision);
    await vi.waitFor(
      async () => expect((await readdir(`${platform.home}/builds/${id}`)).sort()).toEqual(revisions.sort()),
      10_000,
    );
    const gone = await platform.redeploy(id, made[0]!.revision);
    expect(gone.status).toBe(400);
    expect(gone.json.detail).toMatch(/cannot be deployed again: .* its uploaded source have been removed/);
    expect(await platform.status(id, made[0]!.revision)).toBe('DEPLOYED');
    expect((await platform.redeploy(id, made[2]!.revision)).status).toBe(200);
    await platform.reaches(id, made[2]!.revision, 'DEPLOYED');
    const again = await platform.patch(id, {
      source_revision_config: { source_tarball_path: `tarballs/${id}/${made[0]!.source}` },
    });
    expect(again.status).toBe(422);
  });

  it('of the serving and of the last deployed revision is not evicted by failed releases', async () => {
    const id = await platform.create('failing');
    const good = await releases(id, 2, 'DEPLOYED');
    platform.onBuild = () => Promise.resolve({ ok: false, reason: 'broken' });
    const bad = await releases(id, 4, 'BUILD_FAILED');
    platform.playAsUsual();
    const kept = [...good, ...bad.slice(2)].map(({ source }) => source).sort();
    await vi.waitFor(async () => expect(await sourcesOf(id)).toEqual(kept), 10_000);
  });

  it('of the latest revision stays: a change without a source reuses it', async () => {
    const id = await platform.create('carried over');
    const good = await releases(id, 2, 'DEPLOYED');
    platform.onBuild = () => Promise.resolve({ ok: false, reason: 'broken' });
    const [latest] = await releases(id, 1, 'BUILD_FAILED');
    platform.playAsUsual();
    for (const { revision } of good) {
      expect((await platform.redeploy(id, revision)).status).toBe(200);
      await platform.serves(id, revision);
    }
    const change = { secrets: [{ name: 'KEY', value: 'new' }] };
    const { json } = await platform.patch(id, change);
    expect(String(json.source_revision_config['source_tarball_path'])).toContain(latest!.source);
    await platform.reaches(id, json.latest_revision_id, 'DEPLOYED');
  });

  it('left by a killed process is removed at the next start', async () => {
    const id = await platform.create('orphaned');
    const [only] = await releases(id, 1, 'DEPLOYED');
    await writeFile(`${platform.home}/objects/tarballs/${id}/left.tar.gz`, 'left');
    await mkdir(`${platform.home}/objects/tarballs/nobody`);
    await writeFile(`${platform.home}/objects/tarballs/nobody/left.tar.gz`, 'left');
    await platform.start({ sourcesKept: 2 });
    expect(await sourcesOf(id)).toEqual([only!.source]);
    expect(await sourcesOf('nobody')).toEqual([]);
  });
});
