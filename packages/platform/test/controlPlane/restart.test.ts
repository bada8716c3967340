import { rm } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';

import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { RESTARTS_MAX } from '../../src/controlPlane/orchestrator.ts';
import type { ControlPlaneOptions } from '../../src/controlPlane/controlPlane.ts';
import { gate, TestPlatform } from './testPlatform.ts';

const platform = TestPlatform.use();

/** Restarts the platform as after a kill: the rows stay, and the next one starts with them. */
async function killedAndStartedAgain(): Promise<void> {
  platform.serving.clear();
  platform.playAsUsual();
  await platform.start();
}

/** Counts the attempt of a revision that is in progress as its last one. */
async function countAsLastAttempt(revision: string): Promise<void> {
  const set = platform.kysely.updateTable('revisions').set({ restarts: RESTARTS_MAX });
  await set.where('id', '=', revision).execute();
}

describe('a killed platform', () => {
  it('restarts the agents of the active revisions', async () => {
    const { id, revision } = await platform.deployed('was serving');
    const before = platform.agentOf(revision);
    await killedAndStartedAgain();
    await vi.waitFor(() => expect(platform.serving.get(id)).toBe(revision), 10_000);
    expect(platform.agentOf(revision)).not.toBe(before);
    expect(await platform.status(id, revision)).toBe('DEPLOYED');
  });

  it('builds and deploys again what was in progress', async () => {
    for (const stage of ['BUILDING', 'DEPLOYING'] as const) {
      const id = await platform.create(`killed while ${stage}`);
      platform.hangIn(stage);
      const revision = await platform.release(id, stage);
      await killedAndStartedAgain();
      await platform.reaches(id, revision, 'DEPLOYED');
      expect(platform.serving.get(id)).toBe(revision);
    }
  });

  it('fails a revision that is killed in every attempt', async () => {
    const id = await platform.create('kills');
    const { begun } = platform.hangIn('BUILDING');
    const revision = await platform.release(id);
    await begun;
    await countAsLastAttempt(revision);
    await killedAndStartedAgain();
    await platform.reaches(id, revision, 'INTERRUPTED');
  });

  it('keeps an active revision that is killed in every attempt to deploy it again', async () => {
    const { id, revision } = await platform.deployed('keeps serving');
    const { begun } = platform.hangIn('DEPLOYING');
    await platform.redeploy(id, revision);
    await begun;
    await countAsLastAttempt(revision);
    await killedAndStartedAgain();
    await vi.waitFor(() => expect(platform.serving.get(id)).toBe(revision), 10_000);
    expect(await platform.status(id, revision)).toBe('DEPLOYED');
  });

  it('continues a newer revision, even if the directory of the active one is gone', async () => {
    const { id } = await platform.deployed('lost both directories');
    const { begun } = platform.hangIn('BUILDING');
    const newer = await platform.release(id);
    await begun;
    await rm(`${platform.home}/builds`, { recursive: true });
    await killedAndStartedAgain();
    await platform.reaches(id, newer, 'DEPLOYED');
    expect(platform.serving.get(id)).toBe(newer);
  });

  it('rebuilds an active revision whose directory is gone', async () => {
    const { id, revision } = await platform.deployed('lost its directory');
    await rm(`${platform.home}/builds`, { recursive: true });
    await killedAndStartedAgain();
    await vi.waitFor(() => expect(platform.serving.get(id)).toBe(revision), 10_000);
    await platform.reaches(id, revision, 'DEPLOYED');
  });

  it('does the work of a request that comes during its start only after its cleanup', async () => {
    const id = await platform.create('patched early');
    const path = await platform.upload(id);
    const cleaned = gate();
    const containers = { removeLeft: () => cleaned.promise } as unknown as ControlPlaneOptions['containers'];
    // The one before plans once more after its last deployment, and would queue this revision, too.
    await platform.controlPlane.close();
    const started = platform.start({ containers, isolation: 'container' });
    const { json } = await platform.patch(id, { source_revision_config: { source_tarball_path: path } });
    // A whole deployment needs fewer queries.
    for (let asked = 0; asked < 50; asked++)
      expect(await platform.status(id, json.latest_revision_id)).toBe('CREATING');
    cleaned.open();
    await started;
    await platform.reaches(id, json.latest_revision_id, 'DEPLOYED');
  });

  it('continues a deletion', async () => {
    const id = await platform.create('half deleted');
    await platform.kysely
      .updateTable('deployments')
      .set({ status: 'AWAITING_DELETE' })
      .where('id', '=', id)
      .execute();
    await killedAndStartedAgain();
    await platform.gone(id);
  });
});

describe('a platform that is stopped by SIGTERM', () => {
  it('ends its hourly cleaning before it closes', async () => {
    const cleaned = gate<number>();
    const removeLeft = vi
      .fn()
      .mockResolvedValueOnce(0)
      .mockResolvedValueOnce(0)
      .mockReturnValueOnce(cleaned.promise);
    const containers = { removeLeft } as unknown as ControlPlaneOptions['containers'];
    await platform.controlPlane.close();
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    await platform.start({ isolation: 'container', containers });
    vi.advanceTimersByTime(3_600_000);
    await vi.waitFor(() => expect(removeLeft).toHaveBeenCalledTimes(3), 10_000);
    const closed = platform.controlPlane.close().then(() => 'closed');
    expect(await Promise.race([closed, setTimeout(100, 'cleaning')])).toBe('cleaning');
    cleaned.open(0);
    await closed;
    await platform.start();
  });

  it('returns its work to the queue without counting an attempt, and drains the agents', async () => {
    const { revision: active } = await platform.deployed('drained at stop');
    const agent = platform.agentOf(active);
    const id = await platform.create('stopped half way');
    platform.hangIn('BUILDING');
    const revision = await platform.release(id, 'BUILDING');
    await platform.controlPlane.close();
    expect(agent.drained).toBe(true);
    const row = await platform.kysely
      .selectFrom('revisions')
      .select(['status', 'restarts'])
      .where('id', '=', revision)
      .executeTakeFirstOrThrow();
    expect(row).toEqual({ status: 'AWAITING_BUILD', restarts: 0 });
    platform.playAsUsual();
    await platform.start();
    await platform.reaches(id, revision, 'DEPLOYED');
  });
});
