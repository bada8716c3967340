import { type Kysely, sql } from 'kysely';

import { HttpProblem } from '../http/problem.ts';
import {
  adoptNextMasterKey,
  isMasterKeyGiven,
  nextMasterKey,
  pendingMasterKey,
  secretsKeyOf,
} from '../store/keyFiles.ts';
import type { RotatingSealing } from '../store/sealing.ts';
import type { Schema } from '../store/schema.ts';

const BATCH = 200;
/** The sealed columns, and the columns with their contexts. */
const SEALED = {
  idempotency_keys: ['sealed_fingerprint', 'id'],
  deployments: ['sealed_secrets', 'id'],
  revisions: ['sealed_secrets', 'deployment_id'],
} as const;
type SealedTable = keyof typeof SEALED;

/** Reseals the stored secrets with a new master key. */
export class SecretsRotation {
  readonly #kysely: Kysely<Schema>;
  readonly #home: string;
  readonly #sealing: RotatingSealing;
  #underWay: Promise<number> | undefined;

  /** `home` contains the key's file. */
  constructor(options: { kysely: Kysely<Schema>; home: string; sealing: RotatingSealing }) {
    this.#kysely = options.kysely;
    this.#home = options.home;
    this.#sealing = options.sealing;
  }

  /**
   * Makes a new master key, reseals every stored secret with it, and removes the old one. Safe to interrupt at any
   * time: both keys are kept until the last row has the new one, and `resume` continues. A concurrent call returns
   * the running rotation's result.
   * @returns how many lists of secrets were resealed.
   * @throws HttpProblem 409 if the key comes from the environment, because the platform cannot change it there.
   */
  rotate(): Promise<number> {
    if (isMasterKeyGiven()) {
      throw new HttpProblem(
        409,
        'The master key comes from SLIPWAY_MASTER_KEY, so the platform cannot change it.',
      );
    }
    this.#underWay ??= this.#rotate().finally(() => (this.#underWay = undefined));
    return this.#underWay;
  }

  /** Continues a rotation of an earlier process. Call it before any secret is opened. */
  async resume(): Promise<void> {
    if ((await pendingMasterKey(this.#home)) !== undefined) await this.#rotate();
  }

  async #rotate(): Promise<number> {
    this.#sealing.rotateTo(secretsKeyOf(await nextMasterKey(this.#home)));
    const resealed = await this.#reseal(this.#kysely);
    // Concurrent writes may have copied a value with the old key, or locked one. Under the lock, no request writes.
    const rest = await this.#kysely.transaction().execute(async (trx) => {
      // In the order of a create, which would else deadlock with it.
      await sql`lock table idempotency_keys, deployments, revisions in exclusive mode`.execute(trx);
      return this.#reseal(trx);
    });
    await adoptNextMasterKey(this.#home);
    return resealed + rest;
  }

  async #reseal(db: Kysely<Schema>): Promise<number> {
    await resealInBatches(db, this.#sealing, 'idempotency_keys');
    const deployments = await resealInBatches(db, this.#sealing, 'deployments');
    return deployments + (await resealInBatches(db, this.#sealing, 'revisions'));
  }
}

interface SealedRow {
  readonly id: string;
  readonly context: string;
  readonly sealed: string;
}

/** Reseals values with an older key, in batches, ordered by id. */
async function resealInBatches(
  db: Kysely<Schema>,
  sealing: RotatingSealing,
  table: SealedTable,
): Promise<number> {
  const [sealed, context] = SEALED[table].map((column) => sql.ref(column));
  let resealed = 0;
  for (let after: string | null = null; ;) {
    const { rows }: { rows: SealedRow[] } =
      await sql<SealedRow>`select id, ${context} as context, ${sealed} as sealed from ${sql.table(table)}
      where ${after}::uuid is null or id > ${after}::uuid order by id limit ${BATCH}`.execute(db);
    const old = rows.filter((row) => !sealing.isNewest(row.sealed, row.context));
    resealed += await replaceSealed(
      db,
      table,
      old.map(({ id, context, sealed: before }) => ({
        id,
        before,
        sealed: sealing.seal(sealing.open(before, context), context),
      })),
    );
    after = rows.at(-1)?.id ?? null;
    if (rows.length < BATCH) return resealed;
  }
}

/**
 * Replaces the values that are unchanged since they were read, except those that a transaction has locked: to wait for
 * one while holding others could deadlock.
 */
async function replaceSealed(
  db: Kysely<Schema>,
  name: SealedTable,
  rows: readonly { readonly id: string; readonly before: string; readonly sealed: string }[],
): Promise<number> {
  if (rows.length === 0) return 0;
  const table = sql.table(name);
  const column = sql.ref(SEALED[name][0]);
  const ids = rows.map(({ id }) => id);
  const { numAffectedRows } = await sql`
    with free as (select id from ${table} where id = any(${ids}::uuid[]) for update skip locked)
    update ${table} as stored set ${column} = fresh.sealed
    from unnest(${ids}::uuid[], ${rows.map(({ before }) => before)}::text[], ${rows.map(({ sealed }) => sealed)}::text[])
      as fresh (id, before, sealed) join free using (id)
    where stored.id = fresh.id and stored.${column} = fresh.before`.execute(db);
  return Number(numAffectedRows ?? 0);
}
