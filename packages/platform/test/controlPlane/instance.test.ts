import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

import { sql } from 'kysely';
import { expect, it } from 'vitest';

import { createLogger } from '../../src/http/logger.ts';
import { type Platform, startPlatform } from '../../src/platform.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { prepareHome } from '../../../../test/support/preparedHome.ts';
import { emptyDatabaseUrl } from '../testDatabase.ts';
import { useFolder } from '../folders.ts';

/** A home and the database that it is started with. */
interface Place {
  readonly home: string;
  readonly databaseUrl?: string;
}

interface Used extends Place {
  readonly source: string;
}

const MISMATCH = { code: 'SLIPWAY_INSTANCE_MISMATCH' };
const log = createLogger({ level: 'silent' });
const root = useFolder();
let template: Promise<Used> | undefined;

/** The same home with an empty database: another one on the server, or the embedded one made anew. */
async function withEmptyDatabase({ home }: Pick<Place, 'home'>): Promise<Place> {
  const databaseUrl = await emptyDatabaseUrl();
  if (databaseUrl !== undefined) return { home, databaseUrl };
  await rm(join(home, 'postgres'), { recursive: true, force: true });
  await prepareHome(home);
  return { home };
}

async function fresh(): Promise<Place> {
  return withEmptyDatabase({ home: await mkdtemp(join(root, 'home-')) });
}

/** The home of one place with the database of another. */
async function withDatabaseOf({ home }: Place, other: Place): Promise<Place> {
  if (other.databaseUrl !== undefined) return { home, databaseUrl: other.databaseUrl };
  await rm(join(home, 'postgres'), { recursive: true, force: true });
  await cp(join(other.home, 'postgres'), join(home, 'postgres'), { recursive: true });
  return { home };
}

const start = (place: Place, more: { adoptDatabase?: boolean } = {}): Promise<Platform> =>
  startPlatform({ ...place, port: 0, apiKey: 'test-key', log, ...more });

async function startAndStop(place: Place, more: { adoptDatabase?: boolean } = {}): Promise<void> {
  await (await start(place, more)).close();
}

/** A platform that has served: a deployment with an uploaded source. The embedded one is made once, and copied. */
async function used(): Promise<Used> {
  const first = (await template) ?? (await (template = serve()));
  if (first.databaseUrl !== undefined) return serve();
  const home = await mkdtemp(join(root, 'home-'));
  await cp(first.home, home, { recursive: true });
  return { home, source: join(home, relative(first.home, first.source)) };
}

async function serve(): Promise<Used> {
  const place = await fresh();
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
  const { id = '' } = await call('/v2/deployments', {
    name: 'kept',
    source: 'internal_source',
    source_config: {},
    source_revision_config: { graph_config_path: 'graph.json' },
    secrets: [],
  });
  const { upload_url = '', object_path = '' } = await call(`/deployments/${id}/upload-url`, {});
  expect((await fetch(upload_url, { method: 'PUT', body: 'tarball' })).status).toBe(200);
  await platform.close();
  const source = join(place.home, 'objects', object_path);
  expect(await readFile(source, 'utf8')).toBe('tarball');
  return { ...place, source };
}

async function inDatabase(place: Place, work: (database: Database) => Promise<unknown>): Promise<void> {
  const database = await openDatabase(place);
  try {
    await work(database);
  } finally {
    await database.close();
  }
}

/** As a home and a database were before they had an id. */
async function withoutIds(place: Place): Promise<void> {
  await rm(join(place.home, 'instance.id'), { force: true });
  await inDatabase(place, ({ kysely }) => sql`delete from platform_instance`.execute(kysely));
}

const trashed = async ({ home }: Place): Promise<string[]> =>
  (await readdir(join(home, 'trash'), { recursive: true })).filter((path) => path.endsWith('.tar.gz'));

it('a fresh home and an empty database belong together from the first start on', async () => {
  const place = await fresh();
  await startAndStop(place);
  const id = await readFile(join(place.home, 'instance.id'), 'utf8');
  await startAndStop(place);
  expect(await readFile(join(place.home, 'instance.id'), 'utf8')).toBe(id);
});

it('an empty database is refused for a home that has sources, with and without an id; they stay where they are', async () => {
  const place = await used();
  const started = start(await withEmptyDatabase(place));
  await expect(started).rejects.toMatchObject(MISMATCH);
  await expect(started).rejects.toThrow(/1 deployment/);
  await rm(join(place.home, 'instance.id'), { force: true });
  await expect(start(await withEmptyDatabase(place))).rejects.toMatchObject(MISMATCH);
  expect(await readFile(place.source, 'utf8')).toBe('tarball');
});

it("another platform's database is refused, and so is its own for a home that is new", async () => {
  const [one, other] = [await used(), await serve()];
  await expect(start(await withDatabaseOf(one, other))).rejects.toMatchObject(MISMATCH);
  expect(await readFile(one.source, 'utf8')).toBe('tarball');
  await expect(start(await withDatabaseOf(await fresh(), other))).rejects.toMatchObject(MISMATCH);
});

it('an old home and its old database are given one id', async () => {
  const place = await used();
  await withoutIds(place);
  await startAndStop(place);
  expect(await readFile(place.source, 'utf8')).toBe('tarball');
  await startAndStop(place);
  await expect(start(await withEmptyDatabase(place))).rejects.toMatchObject(MISMATCH);
});

it('a backup of the database is taken, and what it does not know lies in the trash for a week', async () => {
  const place = await used();
  await inDatabase(place, ({ kysely }) => kysely.deleteFrom('uploads').execute());
  const expired = join(place.home, 'trash', '2026-01-01T00-00-00-000Z', 'builds');
  await mkdir(expired, { recursive: true });
  await writeFile(join(expired, 'old.tar.gz'), '');
  await startAndStop(place);
  expect(await trashed(place)).toEqual([expect.stringMatching(/^[^/]+\/objects\/tarballs\/.*\.tar\.gz$/)]);
  await startAndStop(place);
  expect(await trashed(place)).toHaveLength(1);
});

it('a database is adopted where that is said, and its former home is refused from then on', async () => {
  const [one, other] = [await used(), await serve()];
  const adopted = await withDatabaseOf(one, other);
  await startAndStop(adopted, { adoptDatabase: true });
  expect(await trashed(adopted)).toHaveLength(1);
  await startAndStop(adopted);
  await expect(start(await withDatabaseOf(other, adopted))).rejects.toMatchObject(MISMATCH);
});
