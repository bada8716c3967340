import { randomUUID } from 'node:crypto';
import { basename, dirname } from 'node:path';

import type { Kysely } from 'kysely';

import { PlatformError } from '../errors.ts';
import { readIfThere, readOrCreate } from '../store/keyFiles.ts';
import type { Schema } from '../store/schema.ts';
import { type HomeLayout, homeLayout, perDeployment, TRASH_KEPT_DAYS } from './homeLayout.ts';

/**
 * Checks that a home and a database belong together, by an id that both store. A platform deletes files in its home
 * that its database does not know, so the wrong database would delete every source and build.
 *
 * If one of them has no id yet (a first start, or a version without ids), both get one if they fit: the database
 * knows a deployment of the home, or the home has none.
 * @param adopt Pair them even if their ids differ.
 * @throws PlatformError SLIPWAY_INSTANCE_MISMATCH.
 */
export async function claimInstance(options: {
  home: string;
  kysely: Kysely<Schema>;
  adopt: boolean;
}): Promise<void> {
  const { kysely } = options;
  const home = homeLayout(options.home);
  const found: Found = {
    homeId: await readIfThere(home.instanceId),
    databaseId: (await kysely.selectFrom('platform_instance').select('id').executeTakeFirst())?.id,
    inHome: await deploymentsIn(home),
    inDatabase: new Set((await kysely.selectFrom('deployments').select('id').execute()).map(({ id }) => id)),
  };
  const { homeId, databaseId } = found;
  if (homeId !== undefined && homeId === databaseId) return;
  if (!options.adopt && !belongTogether(found)) throw mismatch(home, found);
  // The home's id wins, so that an adopted database no longer belongs to its former home.
  const id = homeId ?? databaseId ?? randomUUID();
  await kysely
    .insertInto('platform_instance')
    .values({ id })
    .onConflict((conflict) => conflict.column('only_row').doUpdateSet({ id }))
    .execute();
  await readOrCreate(home.root, home.instanceId, () => id);
}

interface Found {
  readonly homeId: string | undefined;
  readonly databaseId: string | undefined;
  /** The deployments with sources or builds in the home. */
  readonly inHome: ReadonlySet<string>;
  readonly inDatabase: ReadonlySet<string>;
}

function belongTogether({ homeId, databaseId, inHome, inDatabase }: Found): boolean {
  if (homeId !== undefined && databaseId !== undefined) return false;
  if (inHome.size > 0) return [...inHome].some((id) => inDatabase.has(id));
  // A new home has none of the sources of another home's database.
  return databaseId === undefined || inDatabase.size === 0;
}

async function deploymentsIn(home: HomeLayout): Promise<ReadonlySet<string>> {
  const paths = [...(await perDeployment(home.objects)), ...(await perDeployment(home.builds))];
  return new Set(paths.map((path) => basename(dirname(path))));
}

function mismatch(home: HomeLayout, { homeId, databaseId, inHome, inDatabase }: Found): PlatformError {
  const known = [...inHome].filter((id) => inDatabase.has(id)).length;
  const ofHome = `The home ${home.root} (${idText(homeId)}) has sources and builds of ${deployments(inHome.size)}`;
  const ofDatabase = `the database (${idText(databaseId)}) has ${deployments(inDatabase.size)}`;
  return new PlatformError(
    'SLIPWAY_INSTANCE_MISMATCH',
    `${ofHome}, and ${ofDatabase}, ${known} of them in this home. They do not belong together. Nothing was changed.`,
    {
      place: home.root,
      hint: `Start with the right --home or DATABASE_URL. To use this database with this home on purpose: slipway platform --home ${home.root} --adopt-database. What the database does not know is then kept in ${home.trash} for ${TRASH_KEPT_DAYS} days.`,
    },
  );
}

function idText(id: string | undefined): string {
  return id === undefined ? 'no instance id' : `instance ${id}`;
}

function deployments(count: number): string {
  return count === 1 ? '1 deployment' : `${count} deployments`;
}
