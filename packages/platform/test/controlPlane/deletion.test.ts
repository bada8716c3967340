import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';

import { sql } from 'kysely';
import pg from 'pg';
import { describe, expect, it, vi } from 'vitest';

import { openAgentDatabase } from '../../src/agentServer/store/agentDatabase.ts';
import { ThreadStore } from '../../src/agentServer/store/threadStore.ts';
import { openTracing } from '../../src/tracing/tracingStore.ts';
import { createBody, TestPlatform } from './testPlatform.ts';

const platform = TestPlatform.use();

/** Deletes a deployment, and waits until it is gone. */
async function remove(id: string): Promise<void> {
  const { status } = await platform.call('DELETE', `/v2/deployments/${id}?delete_tracing_project=true`);
  expect(status).toBe(204);
  await platform.gone(id);
}

/** Makes the removal of every deployment fail. Returns the function that lets it succeed. */
async function refuseDeletions(): Promise<() => Promise<unknown>> {
  const run = (text: string) => sql.raw(text).execute(platform.kysely);
  await run(
    `create or replace function refuse() returns trigger language plpgsql as $$ begin raise 'not yet'; end $$`,
  );
  await run('create trigger refusing before delete on deployments execute function refuse()');
  return () => run('drop trigger refusing on deployments');
}

describe('deleting several deployments', () => {
  const removeAll = async (...ids: string[]) =>
    platform.call('DELETE', `/v2/deployments?deployment_ids=${ids.join('&deployment_ids=')}`);

  it('deletes all, and lists them', async () => {
    const [one, two] = [await platform.create('several 1'), await platform.create('several 2')];
    const { status, json } = await removeAll(one, two, one);
    expect({ status, json }).toEqual({ status: 200, json: { deleted: [one, two], failed: [] } });
    await platform.gone(one);
    await platform.gone(two);
  });

  it('deletes those that exist: 207, or 404 if none exists', async () => {
    const there = await platform.create('several 3');
    const missing = randomUUID();
    const detail = `Deployment ID ${missing} not found.`;
    const { status, json } = await removeAll(missing, there);
    const failed = [{ deployment_id: missing, detail }];
    expect({ status, json }).toEqual({ status: 207, json: { deleted: [there], failed } });
    await platform.gone(there);
    expect(await removeAll(missing)).toMatchObject({ status: 404, json: { detail } });
    expect((await platform.call('DELETE', '/v2/deployments')).status).toBe(422);
  });
});

describe('a deployment that is deleted', () => {
  it('is AWAITING_DELETE until its agent is drained, and then gone with its files', async () => {
    const { id, revision } = await platform.deployed('deleted');
    await remove(id);
    expect(platform.agentOf(revision).drained).toBe(true);
    expect(platform.serving.has(id)).toBe(false);
    await vi.waitFor(async () => {
      await expect(stat(`${platform.home}/builds/${id}`)).rejects.toThrow('ENOENT');
      await expect(stat(`${platform.home}/objects/tarballs/${id}`)).rejects.toThrow('ENOENT');
    }, 10_000);
    await platform.create('deleted');
  });

  it('leaves its tracing project, which can be deleted later, when its name is needed again', async () => {
    const id = await platform.create('left');
    await platform.call('DELETE', `/v2/deployments/${id}`);
    await platform.gone(id);
    const body = createBody({ name: 'left' });
    const { status, json } = await platform.post(body);
    const path = `/v2/deployments/${id}?delete_tracing_project=true`;
    expect({ status, json }).toEqual({
      status: 409,
      json: { detail: expect.stringContaining(`DELETE ${path} `) },
    });
    expect((await platform.call('DELETE', path)).status).toBe(204);
    expect((await platform.call('DELETE', path)).status).toBe(404);
    expect((await platform.post(body)).status).toBe(201);
  });

  it('is removed later if that fails at first', async () => {
    const id = await platform.create('not yet');
    const allow = await refuseDeletions();
    await platform.call('DELETE', `/v2/deployments/${id}`);
    await vi.waitFor(
      () => expect(platform.logged.join('')).toContain('a deployment was not removed'),
      10_000,
    );
    await allow();
    await platform.gone(id);
  });

  it('takes its tracing project with it, also if a later request does not ask for that', async () => {
    const id = await platform.create('asked once');
    const allow = await refuseDeletions();
    for (const query of ['?delete_tracing_project=true', '']) {
      expect((await platform.call('DELETE', `/v2/deployments/${id}${query}`)).status).toBe(204);
    }
    await allow();
    await platform.gone(id);
    await platform.create('asked once');
  });

  it('takes its tracing project with it, or is not found, if that is requested during its removal', async () => {
    const client = new pg.Client({ connectionString: platform.database.connectionString });
    await client.connect();
    // On the embedded database all clients share one session, so nothing waits there.
    await client.query(`create function wait_for_test() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(4); return old; end $$`);
    await client.query(
      'create trigger waiting before delete on deployments for each row execute function wait_for_test()',
    );
    await client.query('select pg_advisory_lock(4)');
    const id = await platform.create('asked late');
    const path = `/v2/deployments/${id}`;
    const isGone = async () => (await platform.call('GET', path)).status === 404;
    const waiting = async (count: number) =>
      vi.waitFor(async () => {
        const { rowCount } = await client.query('select 1 from pg_locks where not granted');
        expect(rowCount === count || (await isGone())).toBe(true);
      }, 10_000);
    await platform.call('DELETE', path);
    await waiting(1);
    const answer = platform.call('DELETE', `${path}?delete_tracing_project=true`);
    await waiting(2);
    await client.query('select pg_advisory_unlock(4)');
    await vi.waitFor(async () => expect(await isGone()).toBe(true), 10_000);
    await client.query('drop trigger waiting on deployments');
    await client.end();
    const isDone = (await answer).status === 204;
    expect((await platform.post(createBody({ name: 'asked late' }))).status).toBe(isDone ? 201 : 409);
  });

  it('removes its agents’ data, and no other data', async () => {
    const agents = await openAgentDatabase(platform.database.connectionString, () => undefined);
    const id = await platform.create('with threads');
    const other = await platform.create('with other threads');
    const thread = { threadId: crypto.randomUUID(), metadata: {}, ifExists: 'raise' } as const;
    for (const deploymentId of [id, other])
      await new ThreadStore({ db: agents.kysely, deploymentId }).create(thread);
    await agents.close();
    await remove(id);
    const { rows } = await sql`select deployment_id from slipway_agent.threads`.execute(platform.kysely);
    expect(rows).toEqual([{ deployment_id: other }]);
  });

  it.each([
    ['with it', true],
    ['later', false],
  ])(
    'removes its feedback if its tracing project is deleted %s, and no other feedback',
    async (when, atOnce) => {
      const tracing = await openTracing(platform.kysely);
      const id = await platform.create(`with feedback, deleted ${when}`);
      const other = await platform.create(`with other feedback than the one deleted ${when}`);
      const runIds = { [id]: randomUUID(), [other]: randomUUID() };
      for (const [deploymentId, runId] of Object.entries(runIds)) {
        const given = { tracingUrl: '', runId, keys: ['used', 'unused'], deploymentId };
        const { used } = await tracing.createFeedbackLinks(given);
        await tracing.record(used?.split('/').at(-1) ?? '', { comment: 'from a person' });
      }
      if (!atOnce) {
        await platform.call('DELETE', `/v2/deployments/${id}`);
        await platform.gone(id);
        expect(await tracing.feedbackOf(runIds[id] ?? '', { deploymentId: id })).toHaveLength(1);
      }
      await remove(id);
      const { rows } = await sql<{ run_id: string; links: string; feedback: string }>`
      select t.run_id, count(t.*) as links, count(f.*) as feedback from slipway_tracing.feedback_tokens t
      full join slipway_tracing.feedback f using (token_hash)
      where t.run_id is null or t.run_id::text in (${sql.join(Object.values(runIds))})
      group by t.run_id`.execute(platform.kysely);
      expect(rows).toEqual([{ run_id: runIds[other], links: '2', feedback: '1' }]);
    },
  );
});
