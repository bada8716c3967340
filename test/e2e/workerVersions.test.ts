import { join } from 'node:path';

import { afterEach, beforeAll, expect, it } from 'vitest';

import { targetWorkflowId } from '../../src/domain/target/targetSpec.ts';
import { QUICK_START } from '../support/quickStart.ts';
import { PASS } from './faultProxy.ts';
import { Observer } from './observer.ts';
import { Process, slipway } from './processes.ts';
import { Project } from './project.ts';
import { eventually, Stack } from './stack.ts';
import { useAuditedStack } from './useStack.ts';
import { type Change, installVariant } from './variantInstallation.ts';

const ONLY_ADDS: readonly Change[] = [
  { from: '.preemptSignal, preemption)', to: '.preemptSignal, { ...preemption, addedLater: true })' },
  {
    from: 'function endWorkflow(result) {',
    to: 'function endWorkflow(bare) { const result = { ...bare, addedLater: true };',
  },
];
const BREAKS_RELEASES: readonly Change[] = [
  {
    from: "run.objectPath = await run.journal.step('upload'",
    to: "setTimeout(() => undefined, 100); run.objectPath = await run.journal.step('upload'",
  },
];
const BREAKS_TARGETS: readonly Change[] = [{ from: '.upsertMemo)(', to: '.isCancellation)(' }];

/** Temporal shows the polls of a killed worker for so long. */
const GONE_WITHIN_MS = 100_000;

const EXAMPLE = { says: 'Hello Ada!' };

const stack = useAuditedStack({}, { env: { SLIPWAY_WORKER_VERSIONING: '1' } });
let first: string;
beforeAll(async () => {
  const line = await stack.worker.line(({ event }) => event === 'version');
  expect(line).toMatchObject({ state: 'made_current' });
  first = String(line['buildId']);
});
afterEach(() => {
  stack.proxy.rule = PASS;
});

/** Another version of Slipway, whose worker polls beside the first. */
class Variant {
  readonly worker: Process;
  readonly #bin: string;

  private constructor(bin: string) {
    this.#bin = bin;
    this.worker = this.run('worker', '--json');
  }

  static async start(name: string, changes: readonly Change[]): Promise<Variant> {
    return new Variant(await installVariant(join(stack.folder, name), changes));
  }

  /** Its build id, once Temporal knows it. */
  async buildId(): Promise<string> {
    return String((await this.worker.line(({ event }) => event === 'version'))['buildId']);
  }

  run(...args: string[]): Process {
    return new Process(process.execPath, [...QUICK_START, this.#bin, ...args], { env: stack.env });
  }

  async ran(...args: string[]): Promise<{ code: number | null; text: string }> {
    const process = this.run(...args);
    const code = await process.exited;
    return { code, text: process.stdout + process.stderr };
  }
}

async function versionOf(deployment: string, releaseId?: string): Promise<string | undefined> {
  const targetId = targetWorkflowId({ controlPlane: stack.controlPlane, deployment });
  const workflowId = releaseId === undefined ? targetId : `${targetId}/${releaseId}`;
  const { raw } = await (await stack.client()).workflow.getHandle(workflowId).describe();
  const info = raw.workflowExecutionInfo?.versioningInfo;
  return (info?.versioningOverride?.pinned?.version ?? info?.deploymentVersion)?.buildId ?? undefined;
}

/** A project whose target has released once. A second release polls until the proxy stops its faults. */
async function inTheMiddle(deployment: string): Promise<Project> {
  const project = await Project.create(stack, { example: EXAMPLE, deployment });
  expect((await project.ran('release', 'staging')).code).toBe(0);
  await project.touch('a second artifact');
  await project.startHeldRelease();
  return project;
}

it('a version that would break replay: releases end on the old one, targets move', async () => {
  const deployment = 'breaking';
  const project = await inTheMiddle(deployment);
  const seen = new Observer(stack, deployment);
  const next = await Variant.start('breaks-releases', BREAKS_RELEASES);
  const second = await next.buildId();
  expect(second).not.toBe(first);
  expect(await versionOf(deployment, 'release-2')).toBe(first);

  // The running release would be stuck on that version. The command detects that and does not move it.
  const moved = await next.ran('worker', 'rollout', '--move-from', first);
  expect(moved.text).toContain(`stays on ${first}`);
  expect(moved.code).toBe(3);

  expect((await next.ran('worker', 'rollout', '--ramp', '5')).text).toContain(`${second}  ramping (5 %)`);
  const ended = await project.ran('worker', 'rollout', '--back');
  expect(ended.text).toContain('the ramp has ended');
  expect((await project.ran('worker', 'rollout', '--ramp', '0')).text).toContain('no version ramps');
  expect(ended.text).toContain(`${first}  current: takes new work; 1 running release; this installation`);

  const current = await next.ran('worker', 'rollout', '--current');
  expect(current.text).toContain(`${second} is current`);
  expect(current.code).toBe(0);
  stack.proxy.rule = PASS;
  await eventually(async () => {
    expect((await seen.target()).running).toBeNull();
  });
  expect(await seen.result('release-2')).toMatchObject({ outcome: 'released' });
  expect(await versionOf(deployment, 'release-2')).toBe(first);
  expect(await versionOf(deployment)).toBe(second);

  await project.touch('a third artifact');
  expect((await project.ran('release', 'staging')).code).toBe(0);
  expect(await versionOf(deployment, 'release-3')).toBe(second);

  // Back to the first version of this test.
  const back = await next.ran('worker', 'rollout', '--back', '--no-replay');
  expect(back.text).toContain(`${first} is current`);
  await next.worker.stop();
});

it('a version that targets cannot replay on is rejected, and nothing is changed', async () => {
  const project = await Project.create(stack, { example: EXAMPLE, deployment: 'refused' });
  expect((await project.ran('release', 'staging')).code).toBe(0);
  const next = await Variant.start('breaks-targets', BREAKS_TARGETS);
  await next.buildId();
  const refused = await next.ran('worker', 'rollout', '--current');
  expect(refused.text).toContain('would be stuck');
  expect(refused.code).toBe(3);
  // Also if it is made current once more, which Temporal lists as draining.
  const shown = await project.ran('worker', 'rollout', '--current', '--json');
  expect(shown.process.lines).toContainEqual(
    expect.objectContaining({ event: 'worker_version', buildId: first, status: 'current' }),
  );
  await next.worker.stop();
});

it('a version that only adds: messages and results pass between the two, and stranded releases move', async () => {
  const deployment = 'adding';
  const project = await inTheMiddle(deployment);
  const seen = new Observer(stack, deployment);
  const next = await Variant.start('only-adds', ONLY_ADDS);
  const second = await next.buildId();
  expect((await next.ran('worker', 'rollout', '--current')).code).toBe(0);

  // The target of the new version preempts the release of the old one, with a field that the old one does not know.
  const rolledBack = project.run('rollback', 'staging', '--reason', 'a look');
  await eventually(async () => expect(await versionOf(deployment)).toBe(second));
  stack.proxy.rule = PASS;
  await rolledBack.exited;
  const preempted = await seen.result('release-2');
  expect(['aborted', 'rolled_back']).toContain(preempted.outcome);
  expect(await versionOf(deployment, 'release-2')).toBe(first);
  expect(preempted).not.toHaveProperty('addedLater');
  await project.ran('unhold', 'staging', '--reason', 'looked');

  // The target returns to the old version, and accepts the result of a release of the new one.
  await project.touch('a third artifact');
  await project.startHeldRelease();
  await eventually(async () => expect(await versionOf(deployment, 'release-3')).toBe(second));
  const back = await project.ran('worker', 'rollout', '--back');
  expect(back.text).toContain(`${first} is current`);
  expect(back.code).toBe(0);
  stack.proxy.rule = PASS;
  await eventually(async () => {
    expect((await seen.target()).running).toBeNull();
  });
  expect(await seen.result('release-3')).toMatchObject({ outcome: 'released', addedLater: true });
  expect(await versionOf(deployment)).toBe(first);

  // A version's workers are gone while a release is still pinned to it.
  expect((await next.ran('worker', 'rollout', '--current')).code).toBe(0);
  await project.touch('a fourth artifact');
  await project.startHeldRelease();
  await eventually(async () => expect(await versionOf(deployment, 'release-4')).toBe(second));
  expect((await project.ran('worker', 'rollout', '--back')).code).toBe(0);
  await next.worker.kill();
  stack.proxy.rule = PASS;
  const alone = `no worker of version ${second} polls the task queue`;
  await eventually(async () => expect((await project.ran('doctor')).text).toContain(alone), GONE_WITHIN_MS);
  expect((await project.ran('status')).text).toContain(alone);
  expect((await project.ran('watch', '--timeout', '10s')).text).toContain(alone);
  const refused = await next.ran('worker', 'rollout', '--current');
  expect(refused.text).toContain(alone);
  expect(refused.code).toBe(6);
  const moved = await project.ran('worker', 'rollout', '--move-from', second, first);
  expect(moved.text).toContain(`continues on ${first}`);
  expect(moved.code).toBe(0);
  await eventually(async () => {
    expect((await seen.target()).running).toBeNull();
  });
  expect(await seen.result('release-4')).toMatchObject({ outcome: 'released' });
});

it('an unversioned release continues on the first version', async () => {
  const unversioned = await Stack.start();
  try {
    const project = await Project.create(unversioned, { example: EXAMPLE, deployment: 'before' });
    await project.startHeldRelease();
    const versioned = slipway(['worker', '--json'], {
      env: { ...unversioned.env, SLIPWAY_WORKER_VERSIONING: '1' },
    });
    await versioned.line(({ event, state }) => event === 'version' && state === 'made_current');
    expect(await unversioned.worker.stop()).toBe(0);
    unversioned.proxy.rule = PASS;
    const seen = new Observer(unversioned, 'before');
    await eventually(async () => {
      expect((await seen.target()).running).toBeNull();
    });
    expect(await seen.result('release-1')).toMatchObject({ outcome: 'released' });
    await versioned.stop();
  } finally {
    await unversioned.stop();
  }
});
