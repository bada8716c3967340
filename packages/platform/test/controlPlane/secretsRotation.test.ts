import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';

import { SecretsRotation } from '../../src/controlPlane/secretsRotation.ts';
import { loadMasterKey, loadSealing, pendingMasterKey, secretsKeyOf } from '../../src/store/keyFiles.ts';
import { createSealing, type Sealing } from '../../src/store/sealing.ts';
import { TestPlatform } from './testPlatform.ts';
import { useFolder } from '../../../../test/support/temporaryFolder.ts';

const SECRETS = [{ name: 'TOKEN', value: 'hunter2-hunter2' }];
const ROWS = 430;

const platform = TestPlatform.use();
const home = useFolder();

beforeAll(async () => {
  const id = await platform.create('many', { secrets: SECRETS });
  const sealing = createSealing(secretsKeyOf(await loadMasterKey(home, {})));
  // More than one batch, without a request for each.
  await sql`insert into revisions (id, deployment_id, status, source, source_config, source_revision_config,
      sealed_secrets, requested_by, created_at, updated_at)
    select gen_random_uuid(), ${id}::uuid, 'SKIPPED', 'internal_source', '{}', '{}', '', 'patch', now(), now()
    from generate_series(1, ${ROWS}::int)`.execute(platform.kysely);
  const sealed = () => sealing.seal(JSON.stringify(SECRETS), id);
  await platform.kysely.updateTable('revisions').set({ sealed_secrets: sealed() }).execute();
  await platform.kysely.updateTable('deployments').set({ sealed_secrets: sealed() }).execute();
});

async function start() {
  const sealing = await loadSealing(home, {});
  return { sealing, rotation: new SecretsRotation({ kysely: platform.kysely, home, sealing }) };
}

async function everything(): Promise<{ sealed: string; context: string }[]> {
  const { rows } = await sql<{ sealed: string; context: string }>`
    select sealed_secrets as sealed, id as context from deployments
    union all select sealed_secrets, deployment_id from revisions`.execute(platform.kysely);
  return rows;
}

const opened = async (sealing: Sealing): Promise<Set<string>> =>
  new Set((await everything()).map(({ sealed, context }) => sealing.open(sealed, context)));

describe('rotating the master key', () => {
  it('interrupted at any batch, leaves every secret readable for the next process, which continues', async () => {
    const before = await readFile(join(home, 'master.key'), 'utf8');
    for (const allowed of [0, 210, 210]) {
      // Makes the database refuse the update after so many, as if the process had been killed there.
      await sql`create sequence updates`.execute(platform.kysely);
      await sql
        .raw(
          `create function breaks() returns trigger language plpgsql as $$
        begin if nextval('updates') > ${allowed} then raise exception 'killed'; end if; return new; end $$`,
        )
        .execute(platform.kysely);
      await sql`create trigger breaks before update on revisions for each row execute function breaks()`.execute(
        platform.kysely,
      );
      const { rotation } = await start();
      await expect(rotation.rotate()).rejects.toThrow('killed');
      await sql`drop trigger breaks on revisions`.execute(platform.kysely);
      await sql`drop function breaks`.execute(platform.kysely);
      await sql`drop sequence updates`.execute(platform.kysely);

      expect(await readFile(join(home, 'master.key'), 'utf8')).toBe(before);
      const { sealing } = await start();
      expect(await opened(sealing)).toEqual(new Set([JSON.stringify(SECRETS)]));
    }
    const { rotation } = await start();
    await rotation.resume();
    expect(await pendingMasterKey(home)).toBeUndefined();
    expect(await readFile(join(home, 'master.key'), 'utf8')).not.toBe(before);
    expect((await stat(join(home, 'master.key'))).mode & 0o777).toBe(0o600);
    const alone = createSealing(secretsKeyOf(await loadMasterKey(home, {})));
    expect(await opened(alone)).toEqual(new Set([JSON.stringify(SECRETS)]));
    const past = createSealing(secretsKeyOf(Buffer.from(before.trim(), 'hex')));
    await expect(opened(past)).rejects.toMatchObject({ code: 'SLIPWAY_MASTER_KEY_WRONG' });
  });

  it('requested twice at the same time is one rotation, and concurrent writes stay readable', async () => {
    const { rotation, sealing } = await start();
    const [one, two] = await Promise.all([
      rotation.rotate(),
      rotation.rotate(),
      platform.kysely
        .updateTable('revisions')
        .set({ sealed_secrets: sql<string>`(select sealed_secrets from deployments limit 1)` })
        .execute(),
    ]);
    expect(one).toBe(two);
    expect(one).toBeGreaterThan(0);
    const alone = createSealing(secretsKeyOf(await loadMasterKey(home, {})));
    expect(await opened(alone)).toEqual(new Set([JSON.stringify(SECRETS)]));
    expect(await opened(sealing)).toEqual(new Set([JSON.stringify(SECRETS)]));
  });
});
