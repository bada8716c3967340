import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { targetWorkflowId } from '../../src/domain/target/targetSpec.ts';
import { connectTemporal } from '../../src/temporal/client/connection.ts';
import { temporalSettings } from '../../src/temporal/client/temporalSettings.ts';
import { fetchHistories } from '../../src/temporal/history/fetchHistories.ts';
import { BUILT_COMMAND } from '../support/builtCommand.ts';
import { replayFailures } from '../workflows/harness.ts';
import { installCommit } from './commitInstallation.ts';
import { PASS } from './faultProxy.ts';
import { Observer } from './observer.ts';
import { slipway } from './processes.ts';
import { Project } from './project.ts';
import { eventually, Stack } from './stack.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * The builds to upgrade from: commits of this repository, until a version is published. The platform's is the first with
 * the tables of today, and the other the first whose releases a worker of today replays.
 */
const BEFORE = {
  slipway: '0bd56d413dee',
  platform: '61ff844e65f2',
};

/** A shallow clone does not have them. */
const canBuild =
  BUILT_COMMAND !== undefined &&
  Object.values(BEFORE).every(
    (commit) => spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: ROOT }).status === 0,
  );

const DEPLOYMENT = 'upgraded';

describe.skipIf(!canBuild)('an upgrade from earlier builds, in the middle of releases', () => {
  let folder: string;
  let stack: Stack;
  let project: Project;
  let seen: Observer;
  let before: { slipway: string; platform: string };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'slipway-upgrade-'));
    before = {
      slipway: await installCommit(join(folder, 'slipway'), BEFORE.slipway),
      platform: await installCommit(join(folder, 'platform'), BEFORE.platform),
    };
    stack = await Stack.start({}, { installed: before });
    project = await Project.create(stack, {
      example: { says: 'Hello Ada!' },
      deployment: DEPLOYMENT,
      steps: 'as they are',
    });
    seen = new Observer(stack, DEPLOYMENT);
  }, 900_000);
  afterAll(async () => {
    await stack.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** What the platform keeps: the deployment, its revisions, and a thread with what was said on it. */
  async function kept(): Promise<unknown> {
    const { id, active_revision_id } = await seen.deployment();
    const [thread] = (await stack.call('POST', `/agents/${id}/threads/search`, {})) as { values: object }[];
    return { active_revision_id, revisions: await seen.revisions(), thread };
  }

  it('the platform keeps its database, and serves what it served', async () => {
    expect((await project.ran('release', 'staging')).code).toBe(0);
    const { id } = await seen.deployment();
    const { thread_id: thread } = (await stack.call('POST', `/agents/${id}/threads`, {})) as {
      thread_id: string;
    };
    await stack.call('POST', `/agents/${id}/threads/${thread}/runs/wait`, {
      assistant_id: 'greeter',
      input: { messages: [{ role: 'user', content: 'Hello, I am Ada' }] },
    });
    const then = await kept();
    expect(JSON.stringify(then)).toContain('Hello Ada!');
    expect(await stack.platform.stop()).toBe(0);
    stack.installed = { slipway: before.slipway };
    await stack.startPlatform();
    await eventually(async () => expect(await seen.ask('Hello, I am Ada')).toContain('Hello Ada!'));
    expect(await kept()).toEqual(then);
  });

  it('a release that the earlier worker began ends on this one, with one revision', async () => {
    await project.touch('a second artifact');
    await project.startHeldRelease();
    stack.installed = {};
    expect(await stack.worker.stop()).toBe(0);
    stack.proxy.rule = PASS;
    await stack.startWorker();
    await eventually(async () => expect((await seen.target()).running).toBeNull());
    expect(await seen.result('release-2')).toMatchObject({
      outcome: 'released',
      baseline: { verified: true },
    });
    expect(await seen.shippedRevisions()).toHaveLength(2);
  });

  it('the earlier command still releases, and this one sees that', async () => {
    stack.installed = before;
    await project.touch('a third artifact');
    expect((await project.ran('release', 'staging')).code).toBe(0);
    stack.installed = {};
    const { text } = await project.ran('status', 'staging');
    expect(text).toContain('release-3');
  });

  it('this command takes the target back to a revision that the earlier worker verified', async () => {
    const [first] = await seen.shippedRevisions();
    const rollback = await project.ran('rollback', 'staging', '--to', first!.id, '--reason', 'a look');
    expect(rollback.text).toContain('release-1');
    expect(rollback.code).toBe(0);
    expect(await seen.ask('Hello, I am Ada')).toContain('Hello Ada!');
  });

  it('a worker of the earlier build continues what this one began', async () => {
    expect((await project.ran('unhold', 'staging', '--reason', 'looked')).code).toBe(0);
    await project.touch('a fourth artifact');
    await project.startHeldRelease();
    expect(await stack.worker.stop()).toBe(0);
    stack.proxy.rule = PASS;
    const earlier = slipway(['worker', '--json'], { env: stack.env, bin: before.slipway });
    onTestFinished(() => earlier.kill());
    await eventually(async () => expect((await seen.target()).running).toBeNull());
    expect((await seen.result('release-5')).outcome).toBe('released');
  });

  it('every history of both builds replays on this one, and every rule holds', async () => {
    const temporal = await connectTemporal(await temporalSettings(join(stack.folder, 'home'), stack.env));
    try {
      const workflowId = targetWorkflowId({ controlPlane: stack.controlPlane, deployment: DEPLOYMENT });
      const histories = await fetchHistories(temporal, workflowId);
      expect(histories.length).toBeGreaterThan(4);
      expect(await replayFailures(join(ROOT, 'dist/workflow-bundle.cjs'), histories)).toEqual([]);
    } finally {
      await temporal.close();
    }
    expect(await stack.audit({ controlPlane: true })).toEqual([]);
  });
});
