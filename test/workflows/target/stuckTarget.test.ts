import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';

import { audit } from '../../../src/domain/audit/audit.ts';
import { connectTemporal, type TemporalConnection } from '../../../src/temporal/client/connection.ts';
import { intervene, setQuarantine } from '../../../src/temporal/client/intervention/interventionClient.ts';
import { follow } from '../../../src/temporal/client/release/follow.ts';
import { pastReleases } from '../../../src/temporal/client/release/pastReleases.ts';
import { findStuckTask, findStuckTasks, terminateStuck } from '../../../src/temporal/client/stuckTask.ts';
import {
  rollBack,
  setHold,
  submitRelease,
  viewTarget,
} from '../../../src/temporal/client/target/targetClient.ts';
import { temporalSettings } from '../../../src/temporal/client/temporalSettings.ts';
import { fetchAudited } from '../../../src/temporal/history/fetchHistories.ts';
import { readTargetFacts } from '../../../src/temporal/history/readFacts.ts';
import { type Harness, openHarness } from '../harness.ts';
import { identity } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';
import { World } from '../world.ts';
import { useFolder } from '../../support/temporaryFolder.ts';

const taskQueue = `queue-${randomUUID()}`;
const world = new World(`world-${randomUUID()}`);
const by = { who: 'ada', from: 'test' };
const folder = useFolder();
let temporal: TemporalConnection;
let harness: Harness;
let target: TargetUnderTest;
let good: string | null;

const workersWith = (workflowBundle: string): Promise<Harness> =>
  openHarness({ address: inject('temporalAddress'), workflowBundle, taskQueue, nameWorld: () => world.id });

/** A target that has released once. Then its workers get code that cannot rebuild it. */
beforeAll(async () => {
  const settings = await temporalSettings('', {
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    SLIPWAY_TASK_QUEUE: taskQueue,
  });
  temporal = await connectTemporal(settings);
  const before = await workersWith(inject('workflowBundle'));
  const first = before.newTargetIn(world, {});
  const { releaseId } = await submitRelease(temporal, first.request('a'));
  const released = await first.result(releaseId);
  expect(released).toMatchObject({ outcome: 'released' });
  good = released.revisionId;
  await setQuarantine(temporal, first.workflowId, true, { artifact: identity('x') });
  await setHold(temporal, first.workflowId, true, { reason: 'bad' });
  await first.idle();
  const kept = (): void => expect(JSON.stringify([...world.kept.values()])).toContain('bad');
  await vi.waitFor(kept, { timeout: 120_000 });
  await before.close();
  const code = await readFile(inject('workflowBundle'), 'utf8');
  const incompatible = join(folder, 'incompatible.js');
  await writeFile(incompatible, code.replaceAll('.upsertMemo)(', '.isCancellation)('));
  harness = await workersWith(incompatible);
  target = harness.newTargetIn(world, {});
  await target.loseWorker();
  await target.signal('hold', { by });
  // A worker reports only the first failure. Later attempts time out after 3 s each.
  const stuck = async () => expect(await findStuckTask(temporal, target.workflowId)).toBeDefined();
  await vi.waitFor(stuck, { timeout: 120_000, interval: 500 });
}, 180_000);

afterAll(async () => {
  await harness.close();
  await temporal.close();
});

const followed = async (): Promise<void> => {
  for await (const event of follow(temporal, target.workflowId, { id: 'release-2' }))
    expect(event.kind).toBe('never');
};

describe('a target that no worker can continue', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['status', () => viewTarget(temporal, target.workflowId)],
    ['release', () => submitRelease(temporal, target.request('b'))],
    ['rollback', () => rollBack(temporal, target.workflowId, { reason: 'bad' })],
    ['hold', () => setHold(temporal, target.workflowId, true, { reason: 'bad' })],
    ['quarantine', () => setQuarantine(temporal, target.workflowId, true, { artifact: 'a' })],
    ['abort', () => intervene(temporal, target.workflowId, 'abort', { reason: 'bad' })],
    ['the command that follows it', followed],
  ])('is reported by %s, with advice', async (_, command) => {
    await expect(command()).rejects.toMatchObject({
      code: 'SLIPWAY_WORKFLOW_STUCK',
      message: expect.stringContaining('TMPRL1100') as string,
      hint: expect.stringContaining('slipway doctor --fix') as string,
    });
  });

  it('has its past read from the histories, for history and show', async () => {
    expect(await pastReleases(temporal, target.workflowId)).toMatchObject({
      releases: [{ releaseId: 'release-1', outcome: 'released' }],
      unanswered: { code: 'SLIPWAY_WORKFLOW_STUCK' },
    });
  });

  it('is found by the audit, too', async () => {
    const facts = readTargetFacts(target.workflowId, await fetchAudited(temporal, target.workflowId));
    const violations = audit({ target: facts, observed: null, secrets: [] });
    expect(new Set(violations.map(({ rule }) => rule))).toEqual(new Set([10]));
    expect(violations[0]).toMatchObject({
      workflowId: target.workflowId,
      what: expect.stringContaining('workers cannot continue it') as string,
    });
  });

  it('is found with its cause, terminated and started again: it keeps its hold, its quarantine and its verified revisions', async () => {
    const stuck = (await findStuckTasks(temporal)).find(({ workflowId }) => workflowId === target.workflowId);
    expect(stuck?.cause).toContain('Nondeterminism');
    if (stuck === undefined) return;
    await terminateStuck(temporal, stuck);
    // These workers cannot read the terminated run either, so the target reads its record store.
    const { state } = await vi.waitFor(async () => (await viewTarget(temporal, target.workflowId))!, {
      timeout: 120_000,
      interval: 500,
    });
    expect(await findStuckTask(temporal, target.workflowId)).toBeUndefined();
    expect(state.hold?.by).toMatchObject({ reason: 'bad' });
    expect(state.quarantined.map(({ artifact }) => artifact)).toEqual([identity('x')]);
    expect(state.known).toContainEqual(expect.objectContaining({ revisionId: good, verified: true }));
    expect(await submitRelease(temporal, target.request('b'))).toMatchObject({
      disposition: 'rejected',
      reason: expect.stringContaining('on hold') as string,
    });
    await setHold(temporal, target.workflowId, false, { reason: 'looked' });
    expect(await submitRelease(temporal, target.request('x'))).toMatchObject({
      disposition: 'rejected',
      reason: expect.stringContaining('quarantine') as string,
    });
    expect(await target.release('c')).toMatchObject({
      outcome: 'released',
      baseline: { revisionId: good, verified: true },
    });
  });
});
