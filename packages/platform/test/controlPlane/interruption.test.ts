import { describe, expect, it, vi } from 'vitest';

import { type Answer, gate, TestPlatform } from './testPlatform.ts';

const platform = TestPlatform.use();

const interrupt = (id: string, revision: string): Promise<Answer> =>
  platform.call('POST', `/v2/deployments/${id}/revisions/${revision}/interrupt`);

describe('a revision that is interrupted', () => {
  it('during its build is INTERRUPTED immediately, and its build is cancelled', async () => {
    platform.hangIn('BUILDING');
    const id = await platform.create('interrupted build');
    const revision = await platform.release(id, 'BUILDING');
    const { status, json } = await interrupt(id, revision);
    expect(status).toBe(200);
    expect(json).toMatchObject({
      id: revision,
      status: 'INTERRUPTED',
      status_message: 'It was interrupted on request.',
    });
    await vi.waitFor(() => expect(platform.builds.at(-1)?.signal.aborted).toBe(true), 10_000);
    expect(await platform.history(revision)).toEqual([
      'CREATING',
      'QUEUED',
      'AWAITING_BUILD',
      'BUILDING',
      'INTERRUPTED',
    ]);
  });

  it('while it is queued is not built, and the next one is', async () => {
    platform.hangIn('BUILDING');
    const id = await platform.create('interrupted in the queue');
    const first = await platform.release(id, 'BUILDING');
    const waiting = await platform.release(id, 'QUEUED');
    expect((await interrupt(id, waiting)).json.status).toBe('INTERRUPTED');
    platform.playAsUsual();
    expect((await interrupt(id, first)).json.status).toBe('INTERRUPTED');
    const next = await platform.release(id, 'DEPLOYED');
    expect(await platform.history(waiting)).toEqual(['CREATING', 'QUEUED', 'INTERRUPTED']);
    expect((await platform.deployment(id)).active_revision_id).toBe(next);
  });

  it('while it waits for a source stays so after a restart', async () => {
    const id = await platform.create('interrupted at rest');
    const { latest_revision_id: revision } = await platform.deployment(id);
    await platform.reaches(id, revision, 'AWAITING_BUILD');
    expect((await interrupt(id, revision)).json.status).toBe('INTERRUPTED');
    await platform.start();
    expect(await platform.status(id, revision)).toBe('INTERRUPTED');
  });

  it('while its agent starts leaves the active one serving', async () => {
    const { id, revision: good } = await platform.deployed('interrupted start');
    platform.hangIn('DEPLOYING');
    const revision = await platform.release(id, 'DEPLOYING');
    expect((await interrupt(id, revision)).json.status).toBe('INTERRUPTED');
    platform.playAsUsual();
    await platform.release(id, 'DEPLOYED');
    expect(platform.agentOf(good).killed).toBe(false);
    expect(await platform.status(id, revision)).toBe('INTERRUPTED');
  });

  it('after its agent has started but before the switch is not switched to', async () => {
    const id = await platform.create('interrupted late');
    const up = gate();
    platform.onStart = () => up.promise;
    const revision = await platform.release(id, 'DEPLOYING');
    expect((await interrupt(id, revision)).json.status).toBe('INTERRUPTED');
    up.open();
    await vi.waitFor(() => expect(platform.agentOf(revision).killed).toBe(true), 10_000);
    expect((await platform.deployment(id)).active_revision_id).toBeNull();
    expect(await platform.status(id, revision)).toBe('INTERRUPTED');
  });

  it('a second time gets the same answer, also for two at the same time', async () => {
    platform.hangIn('BUILDING');
    const id = await platform.create('interrupted twice');
    const revision = await platform.release(id, 'BUILDING');
    const both = await Promise.all([interrupt(id, revision), interrupt(id, revision)]);
    const again = await interrupt(id, revision);
    for (const { status, json } of [...both, again]) {
      expect([status, json.status]).toEqual([200, 'INTERRUPTED']);
    }
    expect((await platform.history(revision)).filter((status) => status === 'INTERRUPTED')).toHaveLength(1);
  });

  it('after its build can be redeployed, even before its work has ended', async () => {
    const id = await platform.create('interrupted and wanted');
    const up = gate();
    platform.onStart = () => up.promise;
    const revision = await platform.release(id, 'DEPLOYING');
    await interrupt(id, revision);
    expect((await platform.redeploy(id, revision)).status).toBe(200);
    up.open();
    await platform.reaches(id, revision, 'DEPLOYED');
    expect((await platform.deployment(id)).active_revision_id).toBe(revision);
  });

  it('as the active one during its redeploy continues to serve as DEPLOYED', async () => {
    const { id, revision } = await platform.deployed('interrupted redeploy');
    const up = gate();
    platform.onStart = () => up.promise;
    await platform.redeploy(id, revision);
    await platform.reaches(id, revision, 'DEPLOYING');
    const { status, json } = await interrupt(id, revision);
    expect([status, json.status]).toEqual([200, 'DEPLOYED']);
    up.open();
    expect(platform.serving.get(id)).toBe(revision);
    expect((await platform.deployment(id)).active_revision_id).toBe(revision);
  });
});

describe('interrupting is rejected', () => {
  it('with 409 and the status, for a revision that has ended', async () => {
    const { id, revision } = await platform.deployed('ended');
    const { status, json } = await interrupt(id, revision);
    expect(status).toBe(409);
    expect(json).toEqual({ detail: `Revision ID ${revision} is DEPLOYED: there is nothing to interrupt.` });
  });

  it('with 400 while the deployment is being deleted', async () => {
    const id = await platform.create('going');
    const { latest_revision_id: revision } = await platform.deployment(id);
    // Stays between the request to delete it and its end.
    await platform.kysely
      .updateTable('deployments')
      .set({ status: 'AWAITING_DELETE' })
      .where('id', '=', id)
      .execute();
    expect((await interrupt(id, revision)).status).toBe(400);
  });
});
