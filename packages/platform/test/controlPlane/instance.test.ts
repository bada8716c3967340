import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { claimInstance } from '../../src/controlPlane/instance.ts';
import { createLogger } from '../../src/http/logger.ts';
import { type Platform, startPlatform } from '../../src/platform.ts';
import { prepareHome } from '../../../../test/support/preparedHome.ts';
import { useFolder } from '../../../../test/support/temporaryFolder.ts';
import { emptyDatabaseUrl, useTestDatabase } from '../testDatabase.ts';
import { CREATES } from '../../../contract/test/controlPlane/requests.ts';

const MISMATCH = { code: 'SLIPWAY_INSTANCE_MISMATCH' };
const root = useFolder();
const database = useTestDatabase();

interface Side {
  readonly id?: string;
  readonly knows?: readonly string[];
}

/** Makes a home with the sources of deployments. */
async function homeOf({ id, knows = [] }: Side): Promise<string> {
  const home = await mkdtemp(join(root, 'home-'));
  if (id !== undefined) await writeFile(join(home, 'instance.id'), id);
  for (const deployment of knows) {
    const folder = join(home, 'objects', 'tarballs', deployment);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'source.tar.gz'), 'tarball');
  }
  return home;
}

/** Fills the database with only these deployments. */
async function databaseIs({ id, knows = [] }: Side): Promise<void> {
  const { kysely } = database;
  await kysely.deleteFrom('platform_instance').execute();
  await kysely.deleteFrom('deployments').execute();
  if (id !== undefined) await kysely.insertInto('platform_instance').values({ id }).execute();
  for (const deployment of knows) {
    await kysely
      .insertInto('deployments')
      .values({
        id: deployment,
        name: deployment,
        source: 'internal_source',
        tenant_id: deployment,
        status: 'READY',
        source_config: '{}',
        sealed_secrets: '',
        created_at: new Date(),
        updated_at: new Date(),
      })
      .execute();
  }
}

const claim = (home: string, adopt = false) => claimInstance({ home, kysely: database.kysely, adopt });

async function ids(home: string): Promise<[string, string | undefined]> {
  const row = await database.kysely.selectFrom('platform_instance').select('id').executeTakeFirst();
  return [(await readFile(join(home, 'instance.id'), 'utf8')).trim(), row?.id];
}

describe('a home and a database', () => {
  const [one, other] = [randomUUID(), randomUUID()];
  const [mine, yours] = [randomUUID(), randomUUID()];

  it.each<[what: string, home: Side, database: Side]>([
    ['that are both new', {}, {}],
    ['of one id, whatever they know', { id: one, knows: [mine] }, { id: one }],
    ['from before there were ids that know the same deployment', { knows: [mine] }, { knows: [mine, yours] }],
  ])('%s match, and share one id from then on', async (_, ofHome, ofDatabase) => {
    await databaseIs(ofDatabase);
    const home = await homeOf(ofHome);
    await claim(home);
    const [id, same] = await ids(home);
    expect(same).toBe(id);
    await claim(home);
    expect(await ids(home)).toEqual([id, id]);
    await databaseIs({});
    if (ofHome.knows !== undefined) await expect(claim(home)).rejects.toMatchObject(MISMATCH);
  });

  it.each<[what: string, home: Side, database: Side]>([
    ['an empty database, where the home has sources', { id: one, knows: [mine] }, {}],
    ['an empty database, where an old home without an id has sources', { knows: [mine] }, {}],
    ["another platform's database", { id: one, knows: [mine] }, { id: other, knows: [yours] }],
    ['another old database', { knows: [mine] }, { knows: [yours] }],
    ['a home that is new, where the database has deployments', {}, { id: other, knows: [yours] }],
  ])('do not match: %s', async (_, ofHome, ofDatabase) => {
    await databaseIs(ofDatabase);
    await expect(claim(await homeOf(ofHome))).rejects.toMatchObject(MISMATCH);
  });

  it('match after an explicit adoption, and the former home of the database is rejected from then on', async () => {
    await databaseIs({ id: other, knows: [yours] });
    const home = await homeOf({ id: one, knows: [mine] });
    await claim(home, true);
    expect(await ids(home)).toEqual([one, one]);
    const former = await homeOf({ id: other, knows: [yours] });
    await expect(claim(former)).rejects.toMatchObject(MISMATCH);
  });
});

interface Place {
  readonly home: string;
  readonly databaseUrl?: string;
}

/** A home with an empty database: another one on the server, or a new embedded one. */
async function withEmptyDatabase(home: string): Promise<Place> {
  const databaseUrl = await emptyDatabaseUrl();
  if (databaseUrl !== undefined) return { home, databaseUrl };
  await rm(join(home, 'postgres'), { recursive: true, force: true });
  await prepareHome(home);
  return { home };
}

const log = createLogger({ level: 'silent' });
const start = (place: Place, more: { adoptDatabase?: boolean } = {}): Promise<Platform> =>
  startPlatform({ ...place, port: 0, apiKey: 'test-key', log, ...more });

/** A platform that has served: a deployment with an uploaded source. */
async function serve(): Promise<Place & { source: string }> {
  const place = await withEmptyDatabase(await mkdtemp(join(root, 'home-')));
  const platform = await start(place);
  const call = async (path: string, body: unknown): Promise<Record<string, string>> => {
    const answer = await fetch(`${platform.url}${path}`, {
      method: 'POST',
      headers: { 'x-api-key': 'test-key' },
      body: JSON.stringify(body),
    });
    expect(answer.status).toBeLessThan(300);
    return (await answer.json()) as Record<string, string>;
  };
  const { id = '' } = await call('/v2/deployments', CREATES.internal_source);
  const { upload_url = '', object_path = '' } = await call(`/deployments/${id}/upload-url`, {});
  expect((await fetch(upload_url, { method: 'PUT', body: 'tarball' })).status).toBe(200);
  await platform.close();
  const source = join(place.home, 'objects', object_path);
  expect(await readFile(source, 'utf8')).toBe('tarball');
  return { ...place, source };
}

it('a platform removes nothing for a wrong database; after adoption, unknown files stay in the trash for a week', async () => {
  const { home, source } = await serve();
  const empty = await withEmptyDatabase(home);
  const started = start(empty);
  await expect(started).rejects.toMatchObject(MISMATCH);
  await expect(started).rejects.toThrow(/1 deployment/);
  expect(await readFile(source, 'utf8')).toBe('tarball');

  const expired = join(home, 'trash', '2026-01-01T00-00-00-000Z', 'builds');
  await mkdir(expired, { recursive: true });
  await writeFile(join(expired, 'old.tar.gz'), '');
  const trashed = async () =>
    (await readdir(join(home, 'trash'), { recursive: true })).filter((path) => path.endsWith('.tar.gz'));
  await (await start(empty, { adoptDatabase: true })).close();
  expect(await trashed()).toEqual([expect.stringMatching(/^[^/]+\/objects\/tarballs\/.*\.tar\.gz$/)]);
  await (await start(empty)).close();
  expect(await trashed()).toHaveLength(1);
});
