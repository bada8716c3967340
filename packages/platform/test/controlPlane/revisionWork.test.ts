import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import { sql } from 'kysely';
import { describe, expect, it, vi } from 'vitest';

import { DEFAULT_TENANT_ID } from '../../src/access/caller.ts';
import { aborted, gate, TestPlatform } from './testPlatform.ts';

const platform = TestPlatform.use();

describe('a revision', () => {
  it('goes through every status to DEPLOYED, and becomes the active one with the switch', async () => {
    const id = await platform.create('whole way');
    const first = (await platform.deployment(id)).latest_revision_id;
    const revision = await platform.release(id, 'DEPLOYED');
    expect(await platform.history(revision)).toEqual([
      'CREATING',
      'QUEUED',
      'AWAITING_BUILD',
      'BUILDING',
      'AWAITING_DEPLOY',
      'DEPLOYING',
      'DEPLOYED',
    ]);
    const deployment = await platform.deployment(id);
    expect(deployment.active_revision_id).toBe(revision);
    expect(platform.serving.get(id)).toBe(revision);
    expect(await platform.status(id, first)).toBe('SKIPPED');
  });

  it('is built with the cache of its tenant, which other tenants’ builds do not influence', async () => {
    await platform.deployed('cached');
    expect(platform.builds.at(-1)?.cacheDir).toBe(join(platform.home, 'cache', DEFAULT_TENANT_ID));
  });

  it('is not active before the gateway has switched to its agent', async () => {
    const id = await platform.create('not early');
    const ready = gate();
    platform.onStart = () => ready.promise;
    const revision = await platform.release(id, 'DEPLOYING');
    expect((await platform.deployment(id)).active_revision_id).toBeNull();
    expect(platform.serving.has(id)).toBe(false);
    ready.open();
    await platform.reaches(id, revision, 'DEPLOYED');
  });

  it('waits in AWAITING_BUILD without a source, and says so', async () => {
    const id = await platform.create('resting');
    const first = (await platform.deployment(id)).latest_revision_id;
    await platform.reaches(id, first, 'AWAITING_BUILD');
    expect((await platform.revision(id, first)).status_message).toBe('It has no source yet.');
  });

  it('that cannot be built ends BUILD_FAILED with the reason, and the active one keeps serving', async () => {
    const { id, revision: good } = await platform.deployed('build fails');
    platform.onBuild = () => Promise.resolve({ ok: false, reason: 'npm ended with 1: \0' });
    const bad = await platform.release(id, 'BUILD_FAILED');
    expect((await platform.revision(id, bad)).status_message).toBe('npm ended with 1: \uFFFD');
    expect((await platform.deployment(id)).active_revision_id).toBe(good);
    expect(platform.serving.get(id)).toBe(good);
    expect(platform.agentOf(good).drained).toBe(false);
  });

  it('whose agent does not start ends DEPLOY_FAILED with the reason, and the active one keeps serving', async () => {
    const { id, revision: good } = await platform.deployed('start fails');
    platform.onStart = () => Promise.reject(new Error('It exited with 1.'));
    await platform.release(id, 'DEPLOY_FAILED');
    expect((await platform.deployment(id)).active_revision_id).toBe(good);
    expect(platform.serving.get(id)).toBe(good);
  });

  it.each(['BUILDING', 'DEPLOYING'] as const)(
    'continues without a restart if the database was away when its work ended, in %s',
    async (status) => {
      const id = await platform.create(`database away in ${status}`);
      const { kysely } = platform;
      const rename = (from: string, to: string) => kysely.schema.alterTable(from).renameTo(to).execute();
      const lines = platform.logged.length;
      const failed = () =>
        platform.logged.slice(lines).some((line) => line.includes('could not be recorded'));
      let times = 0;
      const breaks = async (): Promise<void> => {
        times += 1;
        if (times === 1) await rename('revision_transitions', 'away');
      };
      if (status === 'BUILDING') {
        const build = platform.onBuild;
        platform.onBuild = async (options) => {
          await breaks();
          return await build(options);
        };
      } else {
        platform.onStart = breaks;
      }
      const revision = await platform.release(id);
      await vi.waitFor(() => expect(failed()).toBe(true), 10_000);
      await rename('away', 'revision_transitions');
      await platform.reaches(id, revision, 'DEPLOYED');
      expect(times).toBe(2);
      expect(platform.serving.get(id)).toBe(revision);
    },
  );

  it.each(['AWAITING_DEPLOY', 'DEPLOYED'])(
    'continues if the database did not answer for a moment when it became %s',
    async (status) => {
      const id = await platform.create(`a moment before ${status}`);
      const { kysely } = platform;
      for (const statement of [
        'CREATE SEQUENCE moments',
        `CREATE FUNCTION not_now() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF nextval('moments') = 1 THEN RAISE 'not now' USING ERRCODE = '57P03'; END IF; RETURN NEW; END $$`,
        `CREATE TRIGGER not_now BEFORE INSERT ON revision_transitions FOR EACH ROW
          WHEN (NEW.to_status = '${status}') EXECUTE FUNCTION not_now()`,
      ]) {
        await sql.raw(statement).execute(kysely);
      }
      const revision = await platform.release(id, 'DEPLOYED');
      expect(platform.serving.get(id)).toBe(revision);
      await sql.raw('DROP FUNCTION not_now CASCADE').execute(kysely);
      await sql.raw('DROP SEQUENCE moments').execute(kysely);
    },
  );

  it('is built again if the database did not answer during its build', async () => {
    const id = await platform.create('asked during a build');
    const build = platform.onBuild;
    platform.onBuild = () => {
      platform.onBuild = build;
      return Promise.reject(new Error('timeout exceeded when trying to connect'));
    };
    await platform.release(id, 'DEPLOYED');
  });

  it('ends BUILD_FAILED if the builder itself fails, also on a full disk', async () => {
    const id = await platform.create('builder breaks');
    platform.onBuild = () => Promise.reject(Object.assign(new Error('write'), { code: 'ENOSPC' }));
    const full = await platform.release(id, 'BUILD_FAILED');
    expect((await platform.revision(id, full)).status_message).toContain('disk');
    platform.onBuild = () => Promise.reject(new Error('a bug'));
    await platform.release(id, 'BUILD_FAILED');
  });
});

describe('a redeploy', () => {
  it('restores the same revision with its original secrets, without building it', async () => {
    const { id, revision: blue } = await platform.deployed('back', {
      secrets: [{ name: 'COLOR', value: 'blue' }],
    });
    const { json } = await platform.patch(id, { secrets: [{ name: 'COLOR', value: 'green' }] });
    const green = json.latest_revision_id;
    await platform.reaches(id, green, 'DEPLOYED');
    expect(platform.agentOf(green).env['COLOR']).toBe('green');
    const builds = platform.builds.length;

    const answer = await platform.redeploy(id, blue);
    expect(answer.status).toBe(200);
    expect(answer.json.latest_revision_id).toBe(green);
    // From the answer on, clients cannot mistake the old DEPLOYED for the new one.
    const history = await platform.history(blue);
    expect(history.slice(7)[0]).toBe('AWAITING_DEPLOY');
    await platform.reaches(id, blue, 'DEPLOYED');
    expect((await platform.history(blue)).slice(7)).toEqual(['AWAITING_DEPLOY', 'DEPLOYING', 'DEPLOYED']);
    expect(platform.builds).toHaveLength(builds);
    expect(platform.agentOf(blue).env['COLOR']).toBe('blue');
    expect((await platform.deployment(id)).active_revision_id).toBe(blue);
    expect(platform.serving.get(id)).toBe(blue);
  });

  it('builds the revision again if its build is gone', async () => {
    const { id, revision: first } = await platform.deployed('gone');
    await platform.release(id, 'DEPLOYED');
    await rm(`${platform.home}/builds/${id}/${first}`, { recursive: true });
    await platform.redeploy(id, first);
    await platform.serves(id, first);
    expect((await platform.history(first)).slice(7)).toEqual([
      'AWAITING_DEPLOY',
      'AWAITING_BUILD',
      'BUILDING',
      'AWAITING_DEPLOY',
      'DEPLOYING',
      'DEPLOYED',
    ]);
  });

  it('interrupts a build instead of waiting for it', async () => {
    const { id, revision: good } = await platform.deployed('interrupts');
    platform.hangIn('BUILDING');
    const slow = await platform.release(id, 'BUILDING');
    await platform.redeploy(id, good);
    await platform.reaches(id, slow, 'INTERRUPTED');
    await platform.reaches(id, good, 'DEPLOYED');
    expect((await platform.deployment(id)).active_revision_id).toBe(good);
  });

  it('requested again while it runs replaces what was requested meanwhile', async () => {
    const { id, revision: good } = await platform.deployed('wanted twice');
    await platform.release(id, 'DEPLOYED');
    const up = gate();
    platform.onStart = () => up.promise;
    await platform.redeploy(id, good);
    await platform.reaches(id, good, 'DEPLOYING');
    const meanwhile = await platform.release(id, 'QUEUED');
    expect((await platform.redeploy(id, good)).status).toBe(200);
    await platform.reaches(id, meanwhile, 'SKIPPED');
    up.open();
    await platform.reaches(id, good, 'DEPLOYED');
    expect((await platform.deployment(id)).active_revision_id).toBe(good);
  });

  it('requested again while another one interrupts it goes on', async () => {
    const { id, revision: first } = await platform.deployed('back and forth');
    const second = await platform.release(id, 'DEPLOYED');
    const stopped = gate();
    platform.onStart = async ({ signal }) => {
      await aborted(signal);
      await stopped.promise;
      throw new Error('called off');
    };
    await platform.redeploy(id, first);
    await platform.reaches(id, first, 'DEPLOYING');
    await platform.redeploy(id, second);
    await platform.redeploy(id, first);
    platform.playAsUsual();
    stopped.open();
    await platform.reaches(id, first, 'DEPLOYED');
    await platform.reaches(id, second, 'DEPLOYED');
    expect(await platform.deployment(id)).toMatchObject({ active_revision_id: first });
  });

  it('of a revision that was never built answers 400', async () => {
    const id = await platform.create('never built');
    const { latest_revision_id: first } = await platform.deployment(id);
    const { status, json } = await platform.redeploy(id, first);
    expect(status).toBe(400);
    expect(json).toEqual({ detail: expect.stringContaining('never built') });
  });

  it('of a revision of another deployment answers 404', async () => {
    const [id, other] = [await platform.create('has not'), await platform.create('has')];
    const { latest_revision_id: others } = await platform.deployment(other);
    for (const revision of [others, randomUUID()]) {
      const { status, json } = await platform.redeploy(id, revision);
      expect([status, json.detail]).toEqual([404, expect.stringContaining(revision)]);
    }
    expect(await platform.history(others)).not.toContain('AWAITING_DEPLOY');
  });

  it('that fails does not affect the serving agent', async () => {
    const { id, revision: first } = await platform.deployed('redeploy fails');
    const second = await platform.release(id, 'DEPLOYED');
    platform.onStart = () => Promise.reject(new Error('no'));
    await platform.redeploy(id, first);
    await platform.reaches(id, first, 'DEPLOY_FAILED');
    expect((await platform.deployment(id)).active_revision_id).toBe(second);
    expect(platform.agentOf(second).drained).toBe(false);
  });

  it('of the active revision restarts its agent', async () => {
    const { id, revision: only } = await platform.deployed('again');
    const before = platform.agentOf(only);
    await platform.redeploy(id, only);
    await vi.waitFor(() => expect(platform.agentOf(only)).not.toBe(before), 10_000);
    await platform.reaches(id, only, 'DEPLOYED');
    await vi.waitFor(() => expect(before.drained).toBe(true), 10_000);
  });
});
