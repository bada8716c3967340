import { rename } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Observer } from './observer.ts';
import { Project } from './project.ts';
import { deployByHand } from './somebodyElse.ts';
import { eventually, Stack } from './stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await Stack.start();
});
afterAll(() => stack.stop());

describe('the main job, on a real Temporal, a real platform and real agents', () => {
  let project: Project;
  let seen: Observer;
  const revisions: Record<string, string> = {};

  beforeAll(async () => {
    project = await Project.create(stack, { example: 'greeter', deployment: 'main-job' });
    seen = new Observer(stack, 'main-job');
  });

  it('releases a good agent: the revision serves and answers a real run', async () => {
    await project.touch('A');
    const { code, text } = await project.ran('release', 'staging');
    expect(text).toContain('released');
    expect(code).toBe(0);
    expect(await seen.ask('Hello, I am Grace')).toContain('Grace');
    const [revision, ...others] = await seen.shippedRevisions();
    expect(others, await seen.story('release-1')).toEqual([]);
    expect((await seen.deployment()).active_revision_id).toBe(revision?.id);
    revisions['A'] = revision!.id;
  });

  it('stays under 90 history events, with the deployment created and one check', async () => {
    expect(await seen.eventCount('release-1')).toBeLessThan(90);
  });

  it('joins when the job is run again for the same commit', async () => {
    const { code, text } = await project.ran('release', 'staging', '--json');
    expect(code).toBe(0);
    expect(text).toContain('already_released');
    expect(await seen.shippedRevisions()).toHaveLength(1);
  });

  it('puts the previous revision back when the new one answers wrongly, and says why', async () => {
    await project.use('broken/answers-wrongly');
    const { code, text } = await project.ran('release', 'staging');
    expect(code).toBe(2);
    expect(text).toContain('rolled back');
    expect(text).toMatch(/check "greets"/);
    expect((await seen.deployment()).active_revision_id).toBe(revisions['A']);
    expect(await seen.ask('Hello, I am Grace')).toContain('Grace');
  });

  it('tries again when the same thing is released again after a failure', async () => {
    const before = await seen.shippedRevisions();
    const { code } = await project.ran('release', 'staging');
    expect(code).toBe(2);
    expect(await seen.shippedRevisions()).toHaveLength(before.length + 1);
  });

  it('ships B, and ships A again after it', async () => {
    await project.use('greeter');
    await project.touch('B');
    expect((await project.ran('release', 'staging')).code).toBe(0);
    revisions['B'] = (await seen.deployment()).active_revision_id!;
    await project.touch('A');
    expect((await project.ran('release', 'staging')).code).toBe(0);
    const again = (await seen.deployment()).active_revision_id;
    expect(Object.values(revisions)).not.toContain(again);
    revisions['A again'] = again!;
  });

  it('rolls back by hand to the verified revision before, and holds the target', async () => {
    const { code, text } = await project.ran('rollback', 'staging', '--reason', 'a look at 3 a.m.');
    expect(text).toContain('rolled back');
    expect(code).toBe(0);
    expect((await seen.deployment()).active_revision_id).toBe(revisions['B']);

    await project.touch('C');
    const refused = await project.ran('release', 'staging');
    expect(refused.code).toBe(4);
    expect(refused.text).toContain('a look at 3 a.m.');

    expect((await project.ran('unhold', 'staging', '--reason', 'looked')).code).toBe(0);
    expect((await project.ran('release', 'staging')).code).toBe(0);
  });

  it('shows it all in the status', async () => {
    const { code, text } = await project.ran('status', 'staging');
    expect(code).toBe(0);
    expect(text).toContain((await seen.deployment()).active_revision_id!);
    expect(text).toContain('rolled back');
  });

  it('takes what a person says while it runs, and refuses it when nothing does', async () => {
    await project.touch('one more change');
    const running = project.run('release', 'staging');
    const said = await eventually(async () => {
      const { code, text } = await project.ran('abort', 'staging', '--reason', 'changed my mind');
      expect(code).toBe(0);
      return text;
    });
    expect(said).toContain('the release stops');
    expect(await running.exited).toBe(4);
    expect(running.stdout + running.stderr).toContain('changed my mind');
    const late = await project.ran('abort', 'staging');
    expect(late.code).toBe(4);
    expect(late.text).toContain('SLIPWAY_WRONG_MOMENT');
  });

  it('is audited: every rule held', async () => {
    const { code, text } = await project.ran('audit', 'staging');
    expect(text).toContain('every rule held');
    expect(code).toBe(0);
  });

  it('keeps the API key out of every history, output and record', async () => {
    expect(await seen.historiesAsText()).not.toContain(stack.apiKey);
    expect(stack.worker.stderr + stack.worker.stdout).not.toContain(stack.apiKey);
  });
});

describe('a deployment made by somebody else', () => {
  it('serves what it served before when our first release of it is bad', async () => {
    const project = await Project.create(stack, { example: 'greeter', deployment: 'foreign' });
    const { revisionId } = await deployByHand(stack, 'foreign', project.folder);
    const seen = new Observer(stack, 'foreign');

    await project.use('broken/answers-wrongly');
    const { code } = await project.ran('release', 'staging');

    expect(code).toBe(2);
    const result = await seen.result('release-1');
    expect(result.outcome).toBe('rolled_back');
    expect(result.baseline).toEqual({ revisionId, verified: true });
    expect((await seen.deployment()).active_revision_id).toBe(revisionId);
    expect(await seen.ask('Hello, I am Grace')).toContain('Grace');
  });
});

describe('a target that is spoken to in public names', () => {
  it('is released to, and its deployment stands there as a public client would have made it', async () => {
    const target = { vocabulary: 'public', deploymentType: 'dev' };
    const project = await Project.create(stack, { example: 'greeter', deployment: 'public', target });
    await rename(join(project.folder, 'graph.json'), join(project.folder, 'langgraph.json'));
    const seen = new Observer(stack, 'public');

    const { code, text } = await project.ran('release', 'staging');

    expect(code, text).toBe(0);
    expect(await seen.ask('Hello, I am Grace')).toContain('Grace');
    expect(await seen.deployment()).toMatchObject({
      source_config: { deployment_type: 'dev' },
      source_revision_config: { langgraph_config_path: 'langgraph.json' },
    });
  });
});

it('what must always hold has held in all of it', async () => {
  expect(await stack.audit()).toEqual([]);
});
