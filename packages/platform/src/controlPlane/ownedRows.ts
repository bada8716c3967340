import { type Kysely, type Selectable, sql } from 'kysely';

import type { Caller } from '../access/caller.ts';
import { HttpProblem } from '../http/problem.ts';
import type { Schema } from '../store/schema.ts';

/** Tables whose rows belong to a tenant, with their names in messages. */
const TABLE_NOUNS = {
  deployments: 'Deployment',
  listeners: 'Listener',
  integrations: 'Integration',
} as const;
type OwnedTable = keyof typeof TABLE_NOUNS;

/** 404 for an id that the caller's tenant lacks. Another tenant's row does not exist for the caller. */
export function notFound(table: OwnedTable, id: string): HttpProblem {
  return new HttpProblem(404, `${TABLE_NOUNS[table]} ID ${id} not found.`);
}

/**
 * The caller's tenant's row with that id; `forChange` locks it until the transaction ends.
 * @throws HttpProblem 404 if there is none.
 */
export async function findOwned<Table extends OwnedTable>(
  db: Kysely<Schema>,
  table: Table,
  caller: Caller,
  id: string,
  { forChange = false } = {},
): Promise<Selectable<Schema[Table]>> {
  const owned: OwnedTable = table;
  let select = db.selectFrom(owned).selectAll().where('id', '=', id).where('tenant_id', '=', caller.tenantId);
  if (forChange) select = select.forUpdate();
  const row = await select.executeTakeFirst();
  if (row === undefined) throw notFound(table, id);
  return row as unknown as Selectable<Schema[Table]>;
}

/**
 * Removes a listener or integration. Decision: not while a deployment names it, which could not be deployed again.
 * @throws HttpProblem 404; 409 while a deployment names it.
 */
export async function removeUnused(
  kysely: Kysely<Schema>,
  table: 'listeners' | 'integrations',
  caller: Caller,
  id: string,
): Promise<void> {
  const field = table === 'listeners' ? 'listener_id' : 'integration_id';
  await kysely.transaction().execute(async (trx) => {
    await findOwned(trx, table, caller, id, { forChange: true });
    const user = await trx
      .selectFrom('deployments')
      .select('name')
      .where(sql<string>`source_config ->> ${sql.lit(field)}`, '=', id)
      .executeTakeFirst();
    if (user !== undefined)
      throw new HttpProblem(409, `${TABLE_NOUNS[table]} ID ${id} is used by deployment '${user.name}'.`);
    await trx.deleteFrom(table).where('id', '=', id).execute();
  });
}
