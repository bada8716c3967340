import { randomUUID } from 'node:crypto';
import { basename, dirname } from 'node:path';

import type { Kysely } from 'kysely';

import { PlatformError } from '../errors.ts';
import { readIfExists, readOrCreate } from '../store/keyFiles.ts';
import type { Schema } from '../store/schema.ts';
import { type HomeLayout, homeLayout, listPerDeployment, TRASH_RETENTION_DAYS } from './homeLayout.ts';

/**
 * Checks that a home and a database belong together, by an id that both store. A platform deletes files in its home
 * that its database does not know, so the wrong database would delete every source and build.
 *
 * If one of them has no id yet (a first start, or a version without ids), both get one if they fit: the database
 * knows a deployment of the home, or the home has none.
 * @param adopt Pair them even if their ids differ.
 * @returns The id.
 * @throws PlatformError SLIPWAY_INSTANCE_MISMATCH.
 */
export async function claimInstance(options: {
  home: string;
  kysely: Kysely<Schema>;
  adopt: boolean;
}): Promise<string> {
  const { kysely } = options;
  const home = homeLayout(options.home);
  const found: InstanceState = {
    homeId: await readIfExists(home.instanceId),
    databaseId: (await kysely.selectFrom('platform_instance').select('id').executeTakeFirst())?.id,
    homeDeployments: await deploymentsIn(home),
    databaseDeployments: new Set(
      (await kysely.selectFrom('deployments').select('id').execute()).map(({ id }) => id),
    ),
  };
  const { homeId, databaseId } = found;
  if (homeId !== undefined && homeId === databaseId) return homeId;
  if (!options.adopt && !isSameInstance(found)) throw mismatch(home, found);
  // The home's id wins, so that an adopted database no longer belongs to its former home.
  const id = homeId ?? databaseId ?? randomUUID();
  await kysely
    .insertInto('platform_instance')
    .values({ id })
    .onConflict((conflict) => conflict.column('only_row').doUpdateSet({ id }))
    .execute();
  return readOrCreate(home.root, home.instanceId, () => id);
}

interface InstanceState {
  readonly homeId: string | undefined;
  readonly databaseId: string | undefined;
  /** The deployments with sources or builds in the home. */
  readonly homeDeployments: ReadonlySet<string>;
  readonly databaseDeployments: ReadonlySet<string>;
}

function isSameInstance({ homeId, databaseId, ...found }: InstanceState): boolean {
  const { homeDeployments, databaseDeployments } = found;
  if (homeId !== undefined && databaseId !== undefined) return false;
  if (homeDeployments.size > 0) return [...homeDeployments].some((id) => databaseDeployments.has(id));
  // A new home has none of the sources of another home's database.
  return databaseId === undefined || databaseDeployments.size === 0;
}

async function deploymentsIn(home: HomeLayout): Promise<ReadonlySet<string>> {
  const paths = [...(await listPerDeployment(home.objects)), ...(await listPerDeployment(home.builds))];
  return new Set(paths.map((path) => basename(dirname(path))));
}

function mismatch(
  home: HomeLayout,
  { homeId, databaseId, homeDeployments, databaseDeployments }: InstanceState,
): PlatformError {
  const knownInHome = [...homeDeployments].filter((id) => databaseDeployments.has(id)).length;
  const homeText = `The home ${home.root} (${idText(homeId)}) has sources and builds of ${countText(homeDeployments.size)}`;
  const databaseText = `the database (${idText(databaseId)}) has ${countText(databaseDeployments.size)}`;
  return new PlatformError(
    'SLIPWAY_INSTANCE_MISMATCH',
    `${homeText}, and ${databaseText}, ${knownInHome} of them in this home. They do not belong together. Nothing was changed`,
    {
      place: home.root,
      hint: `Start with the right --home or DATABASE_URL. To use this database with this home on purpose: slipway platform --home ${home.root} --adopt-database. Files that the database does not list are then kept in ${home.trash} for ${TRASH_RETENTION_DAYS} days.`,
    },
  );
}

function idText(id: string | undefined): string {
  return id === undefined ? 'no instance id' : `instance ${id}`;
}

function countText(count: number): string {
  return count === 1 ? '1 deployment' : `${count} deployments`;
}
