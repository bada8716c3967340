import { stat } from 'node:fs/promises';

import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { openAgentDatabase } from '../../../src/platform/agentServer/store/agentDatabase.ts';
import { ThreadStore } from '../../../src/platform/agentServer/store/threadStore.ts';
import { TestPlatform } from './testPlatform.ts';

let platform: TestPlatform;

beforeAll(async () => {
  platform = await TestPlatform.open();
});

afterAll(() => platform.close());

/** Deletes a deployment, and waits until it is gone. */
async function remove(id: string): Promise<void> {
  const { status } = await platform.call('DELETE', `/v2/deployments/${id}?delete_tracing_project=true`);
  expect(status).toBe(204);
  await vi.waitFor(async () =>
    expect((await platform.call('GET', `/v2/deployments/${id}`)).status).toBe(404),
  );
}

describe('a deployment that is deleted', () => {
  it('is AWAITING_DELETE until its agent is drained, and gone then with its files', async () => {
    const id = await platform.create('deleted');
    const revision = await platform.release(id);
    await platform.reaches(id, revision, 'DEPLOYED');
    await remove(id);
    expect(platform.agentOf(revision).drained).toBe(true);
    expect(platform.serving.has(id)).toBe(false);
    await vi.waitFor(async () => {
      await expect(stat(`${platform.home}/builds/${id}`)).rejects.toThrow('ENOENT');
      await expect(stat(`${platform.home}/objects/tarballs/${id}`)).rejects.toThrow('ENOENT');
    });
    await platform.create('deleted');
  });

  it('takes along what its agents have stored, and nothing of another', async () => {
    const agents = await openAgentDatabase(platform.database.connectionString, () => undefined);
    const id = await platform.create('with threads');
    const other = await platform.create('with other threads');
    for (const deploymentId of [id, other])
      await new ThreadStore({ db: agents.kysely, deploymentId }).create({ ifExists: 'raise' });
    await agents.close();
    await remove(id);
    const { rows } = await sql`select deployment_id from slipway_agent.threads`.execute(platform.kysely);
    expect(rows).toEqual([{ deployment_id: other }]);
  });
});
