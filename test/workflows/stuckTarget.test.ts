import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';

import { connectTemporal, type TemporalConnection } from '../../src/temporal/connection.ts';
import { follow } from '../../src/temporal/follow.ts';
import { intervene, setQuarantine } from '../../src/temporal/interventionClient.ts';
import { findStuckTask, findStuckTasks, terminateStuck } from '../../src/temporal/stuckTask.ts';
import { rollBack, setHold, submitRelease, viewTarget } from '../../src/temporal/targetClient.ts';
import { temporalSettings } from '../../src/temporal/temporalSettings.ts';
import { type Harness, openHarness } from './harness.ts';
import type { TargetUnderTest } from './targetUnderTest.ts';
import { World } from './world.ts';

const taskQueue = `queue-${randomUUID()}`;
const world = new World(`world-${randomUUID()}`);
const by = { who: 'ada', from: 'test' };
let folder: string;
let temporal: TemporalConnection;
let harness: Harness;
let target: TargetUnderTest;

const workersWith = (workflowBundle: string): Promise<Harness> =>
  openHarness({ address: inject('temporalAddress'), workflowBundle, taskQueue, nameWorld: () => world.id });

/** A target that has released once, whose workers then get code that cannot rebuild it. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'slipway-stuck-'));
  const settings = await temporalSettings('', {
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    SLIPWAY_TASK_QUEUE: taskQueue,
  });
  temporal = await connectTemporal(settings);
  const before = await workersWith(inject('workflowBundle'));
  const first = before.newTargetIn(world, {});
  const { releaseId } = await submitRelease(temporal, first.request('a'));
  expect(await first.result(releaseId)).toMatchObject({ outcome: 'released' });
  await before.close();
  const code = await readFile(inject('workflowBundle'), 'utf8');
  const incompatible = join(folder, 'incompatible.js');
  await writeFile(incompatible, code.replaceAll('    mark();', '    '));
  harness = await workersWith(incompatible);
  target = harness.newTargetIn(world, {});
  await target.loseWorker();
  await target.signal('hold', { by });
  // A worker reports only the first failure: the others are attempts that time out, after 3 s each.
  const stuck = async () => expect(await findStuckTask(temporal, target.workflowId)).toBeDefined();
  await vi.waitFor(stuck, { timeout: 120_000, interval: 500 });
}, 180_000);

afterAll(async () => {
  await harness.close();
  await temporal.close();
  await rm(folder, { recursive: true });
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
  ])('says so to %s, and what to do', async (_, command) => {
    await expect(command()).rejects.toMatchObject({
      code: 'SLIPWAY_WORKFLOW_STUCK',
      message: expect.stringContaining('TMPRL1100') as string,
      hint: expect.stringContaining('slipway doctor --fix') as string,
    });
  });

  it('is found with its cause, ended, and takes releases again', async () => {
    const stuck = (await findStuckTasks(temporal)).find(({ workflowId }) => workflowId === target.workflowId);
    expect(stuck?.cause).toContain('Nondeterminism');
    if (stuck === undefined) return;
    await terminateStuck(temporal, stuck);
    await harness.close();
    harness = await workersWith(inject('workflowBundle'));
    target = harness.newTargetIn(world, {});
    expect(await target.release('b')).toMatchObject({ outcome: 'released' });
    expect(await findStuckTask(temporal, target.workflowId)).toBeUndefined();
  });
});
