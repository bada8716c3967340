import { readFile, truncate } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeAll, expect, it } from 'vitest';

import { Observer } from './observer.ts';
import { Process, slipway } from './processes.ts';
import { Project } from './project.ts';
import { goodAgent } from './servingDeployment.ts';
import { useStack } from './useStack.ts';
import { makeOld, storeOf, storeUnneeded } from './storedArtifacts.ts';
import { installVariant } from './variantInstallation.ts';

const NO_LISTENER = '127.0.0.1:1';
const DEPLOYMENT = 'without-worker';

const stack = useStack();
let project: Project;
/** The release that runs when the worker is stopped. */
let running: string;

beforeAll(async () => {
  project = await Project.create(stack, { example: goodAgent(1), deployment: DEPLOYMENT });
  for (const version of [1, 2]) {
    await project.use(goodAgent(version));
    const released = await project.ran('release', 'staging');
    expect(released.code, released.text).toBe(0);
  }
  await project.use(goodAgent(3));
  const { code, text } = await project.ran('release', 'staging', '--no-wait');
  expect(code, text).toBe(0);
  [running = ''] = /release-\d+/.exec(text) ?? [];
  expect(await stack.worker.stop()).toBe(0);
});

// Run concurrently: each test spends most of its time waiting for a service that does not answer.

it.concurrent('a worker that cannot load its workflow code reports it, and ends', async () => {
  const broken = await installVariant(join(stack.folder, 'broken'), []);
  await truncate(join(stack.folder, 'broken/dist/workflow-bundle.cjs'), 1_000_000);
  for (const command of ['worker', 'doctor']) {
    const ran = new Process(process.execPath, [broken, command], { env: stack.env });
    expect(await ran.exited).not.toBe(0);
    expect(ran.stdout + ran.stderr).toContain('SLIPWAY_INSTALLATION_DAMAGED: the workflow code');
  }
});

it.concurrent('history and show work', async () => {
  const { code, text } = await project.ran('history', 'staging', '--json');
  expect(code, text).toBe(0);
  const past = text
    .trim()
    .split('\n')
    .filter((line) => line.startsWith('{'));
  expect(JSON.parse(past.at(-1) ?? '')).toMatchObject({
    event: 'past_release',
    releaseId: 'release-1',
    outcome: 'released',
  });
  const shown = await project.ran('show', 'release-1');
  expect(shown.text).toMatch(/^release-1 on staging: ✔ released/);
});

it.concurrent(
  'the status shows what Temporal and the control plane know, and that no worker answers: exit code 6',
  async () => {
    const summary = join(stack.folder, 'rollback.md');
    const said = slipway(['rollback', 'staging', '--no-wait', '--reason', 'it is slow'], {
      env: { ...stack.env, GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: summary },
      cwd: project.folder,
    });
    expect(await said.exited, said.stdout + said.stderr).toBe(0);
    expect(await readFile(summary, 'utf8')).toMatch(/^## ✔ rollback of staging: /);
    const { active_revision_id: active } = await new Observer(stack, DEPLOYMENT).deployment();

    const { code, text } = await project.ran('status', 'staging', '--last', '2');

    expect(code, text).toBe(6);
    expect(text).toMatch(
      new RegExp(`serves {3}revision ${active ?? ''}.*, according to the control plane`, 'u'),
    );
    expect(text).toMatch(/^ {2}running {2}release-\d+, for .*, by its history$/m);
    expect(text).toMatch(/^ {2}kept {5}rollback by .* \(it is slow\), sent .* ago: it waits for a worker$/m);
    expect(text.match(/^ {4}[✔✖] release-\d+: /gm)).toHaveLength(2);
    expect(text).toMatch(/^ {2}unknown {2}.*hold, quarantine/m);
    expect(text).toMatch(/SLIPWAY_NO_WORKER: no worker .*task queue "slipway"/);

    const again = await project.ran('status', 'staging', '--last', '2', '--json');
    expect(again.process.lines).toMatchObject([
      {
        event: 'status',
        from: 'temporal',
        activeRevisionId: active,
        messages: expect.arrayContaining([expect.objectContaining({ message: 'rollback' })]),
        unknown: expect.arrayContaining(['queue']),
      },
      { event: 'error', code: 'SLIPWAY_NO_WORKER', exitCode: 6 },
    ]);
  },
);

it.concurrent('a message to one release waits only for that release', async () => {
  const kept = await project.ran('pause', 'staging', '--release', running);
  expect(kept.code, kept.text).toBe(0);
  expect(kept.text).toContain('Temporal keeps it');
  const late = await project.ran('resume', 'staging', '--release', 'release-1');
  expect(late.code, late.text).toBe(4);
  expect(late.text).toContain('release-1 does not run');
});

it.concurrent('a plan shows what is known, and what did not answer: exit code 6', async () => {
  const env = { ...stack.env, TEMPORAL_ADDRESS: NO_LISTENER };
  const planned = slipway(['plan', 'release', 'staging'], { env, cwd: project.folder });
  expect(await planned.exited).toBe(6);
  expect(planned.stdout).toMatch(/^A release on staging would do this now;/);
  expect(planned.stdout).toMatch(/^ {2}taken +not known: Temporal at \S+ refuses connections$/m);
  expect(planned.stdout).toMatch(/^ {2}takes +at most \d+h\d+m, by the deadlines/m);
  expect(planned.stderr).toContain('SLIPWAY_TEMPORAL_UNREACHABLE');
});

it.concurrent('a command that needs an unreachable control plane ends with 6', async () => {
  const target = { controlPlane: `http://${NO_LISTENER}` };
  const away = await Project.create(stack, { example: goodAgent(1), deployment: 'away', target });
  const { code, text } = await away.ran('logs', 'staging');
  expect(code, text).toBe(6);
  expect(text).toContain('SLIPWAY_UNREACHABLE');
});

it('nothing is pruned if a target does not answer: exit code 6', async () => {
  await storeUnneeded(stack);
  await makeOld(stack);
  const before = await storeOf(stack).listArtifacts();
  const { code, text } = await project.ran('prune');
  expect(code, text).toBe(6);
  expect(text).toMatch(/SLIPWAY_TARGET_SILENT: target:.* could not be asked .*no worker/);
  expect(await storeOf(stack).listArtifacts()).toEqual(before);
});
