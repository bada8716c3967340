import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { Process } from './processes.ts';
import { Project } from './project.ts';
import { PullRequestComments } from './pullRequestComments.ts';
import { goodAgent } from './servingDeployment.ts';
import { eventually, Stack } from './stack.ts';

let github: PullRequestComments;
let stack: Stack;
let project: Project;

beforeAll(async () => {
  github = await PullRequestComments.start();
  stack = await Stack.start({}, { env: { PREVIEW_TOKEN: github.token } });
  const { apiUrl, repository } = github;
  const comment = { kind: 'github', apiUrl, repository, token: { from: 'env:PREVIEW_TOKEN' } };
  project = await Project.create(stack, {
    example: goodAgent(0),
    deployment: 'greeter',
    previews: { reviews: { from: 'staging', deployment: 'greeter-{pr}', ttl: '1h', max: 2, comment } },
  });
});
afterAll(async () => {
  await stack.stop();
  await github.stop();
});

async function deployments(): Promise<string[]> {
  const { resources } = (await stack.call('GET', '/v2/deployments?limit=100')) as {
    resources: { name: string; status: string }[];
  };
  return resources.filter(({ status }) => status !== 'AWAITING_DELETE').map(({ name }) => name);
}

/** Waits until a command has printed an event, and kills it. */
async function killedAt(process: Process, event: string): Promise<void> {
  await eventually(() => {
    expect(process.lines.map((line) => line['event'])).toContain(event);
  });
  await process.kill();
}

const preview = (pr: number, ...words: string[]) =>
  project.run('preview', ...words, '--pr', String(pr), '--json');

describe('a pull request', () => {
  it('is opened: a separate deployment is released, checked, and reported in one comment', async () => {
    const up = preview(1);
    expect(await up.exited, up.stdout + up.stderr).toBe(0);
    expect(up.lines.at(-1)).toMatchObject({
      event: 'preview',
      pr: 1,
      deployment: 'greeter-1',
      commentProblem: null,
      exitCode: 0,
    });
    expect(await deployments()).toEqual(['greeter-1']);
    await eventually(() => expect(github.of(1)).toContain('**released**'));
    expect(github.of(1)).toContain('| greets | ✅ passed |');
    expect(github.of(1)).toContain(String(up.lines.at(-1)?.['agentUrl']));
    const status = await project.ran('status', 'greeter-1', '--json');
    expect(status.code, status.text).toBe(0);
  });

  it('is pushed to, and the CI is killed in the middle: the release continues, and the comment is updated', async () => {
    await project.use(goodAgent(1));
    await killedAt(preview(1), 'submitted');
    await eventually(() => expect(github.of(1)).toContain('release-2: **released**'));
    const list = await project.ran('preview', 'list', '--json');
    const [listed] = list.process.lines;
    expect(listed).toMatchObject({
      event: 'listed_preview',
      pr: 1,
      phase: 'idle',
      outcome: 'released',
      problem: null,
    });
  });

  it('is closed: everything is removed, and a second removal changes nothing', async () => {
    const down = preview(1, 'down');
    expect(await down.exited, down.stdout + down.stderr).toBe(0);
    expect(down.lines.at(-1)).toMatchObject({ event: 'preview_removed', removed: 'deleted', exitCode: 0 });
    expect(await deployments()).toEqual([]);
    expect(github.of(1)).toContain('**Removed.**');
    const again = preview(1, 'down');
    expect(await again.exited, again.stdout + again.stderr).toBe(0);
    expect(again.lines.at(-1)).toMatchObject({ removed: 'never_made' });
  });

  it('over the limit removes the oldest idle preview', async () => {
    for (const pr of [12, 11]) {
      const up = preview(pr);
      expect(await up.exited, up.stdout + up.stderr).toBe(0);
    }
    // Temporal's list is late.
    await eventually(async () => {
      const { process } = await project.ran('preview', 'list', '--json');
      expect(process.lines.filter(({ name }) => name === 'reviews')).toHaveLength(2);
    });
    const third = preview(13, 'up', '--no-wait');
    expect(await third.exited, third.stdout + third.stderr).toBe(0);
    expect(third.lines).toContainEqual(expect.objectContaining({ event: 'preview_evicted', pr: 12 }));
    await eventually(async () => expect((await deployments()).sort()).toEqual(['greeter-11', 'greeter-13']));
  });

  it('that is closed while its push is released ends the push, which says so', async () => {
    await project.use(goodAgent(2));
    const up = preview(13);
    await up.line(({ event }) => event === 'submitted');
    const down = preview(13, 'down', '--reason', 'merged');
    expect(await up.exited, up.stdout + up.stderr).toBe(4);
    expect(up.lines.at(-1)).toMatchObject({
      event: 'preview',
      agentUrl: null,
      removal: expect.stringMatching(/removed it: merged$/),
    });
    expect(await down.exited, down.stdout + down.stderr).toBe(0);
  });

  it('whose workflow was ended by hand is found by an audit, and removed by hand', async () => {
    const client = await stack.client();
    let workflowId = '';
    for await (const listed of client.workflow.list({ query: "WorkflowType = 'preview'" }))
      if (listed.workflowId.endsWith(':greeter-11')) workflowId = listed.workflowId;
    await client.workflow.getHandle(workflowId).terminate('by hand');
    // An audit of all targets asks for one release of each.
    const released = await project.ran('release', 'staging');
    expect(released.code, released.text).toBe(0);
    const audited = await project.ran('audit', '--json');
    expect(audited.code, audited.text).toBe(3);
    expect(audited.process.lines).toContainEqual(
      expect.objectContaining({ event: 'unheld_preview', name: 'reviews', pr: 11, deployment: 'greeter-11' }),
    );
    const down = preview(11, 'down');
    expect(await down.exited, down.stdout + down.stderr).toBe(0);
    expect(await deployments()).not.toContain('greeter-11');
  });

  it('violates no rule', async () => {
    expect(await stack.audit()).toEqual([]);
  });
});
