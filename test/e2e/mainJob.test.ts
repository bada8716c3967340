import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { meet, REQUESTS } from './faultProxy.ts';
import { Observer } from './observer.ts';
import { type Process, slipway } from './processes.ts';
import { Project } from './project.ts';
import { goodAgent } from './servingDeployment.ts';
import { eventually } from './stack.ts';
import { useAuditedStack } from './useStack.ts';
import { makeOld, storeOf, storeUnneeded } from './storedArtifacts.ts';
import { WebhookReceiver } from './webhookReceiver.ts';

const stack = useAuditedStack();

const eventsOf = ({ lines }: Process) => lines.map(({ event }) => event);

describe('the main job, on a real Temporal, a real platform and real agents', () => {
  let project: Project;
  let seen: Observer;
  let receiver: WebhookReceiver;
  const revisions: Record<string, string> = {};
  let planned: {
    readonly artifact: { readonly identity: string };
    readonly steps: readonly { readonly step: string }[];
  };

  beforeAll(async () => {
    receiver = await WebhookReceiver.start(stack.folder);
    project = await Project.create(stack, {
      example: 'greeter',
      deployment: 'main-job',
      notify: [receiver.config],
    });
    seen = new Observer(stack, 'main-job');
  });

  afterAll(() => receiver.close());

  it('plans the first release without creating, starting or storing anything', async () => {
    await project.touch('A');
    const { code, text } = await project.ran('plan', 'release', 'staging');
    expect(code, text).toBe(0);
    expect(text).toContain('deployment main-job does not exist: the release creates it');
    const [line = ''] = (await project.ran('plan', 'release', 'staging', '--json')).text.split('\n');
    planned = JSON.parse(line) as typeof planned;
    expect(planned).toMatchObject({
      event: 'release_plan',
      creates: true,
      answer: { releaseId: 'release-1' },
    });

    await expect(seen.deployment()).rejects.toThrow('there is no deployment');
    const client = await stack.client();
    for await (const { workflowId } of client.workflow.list()) expect.fail(workflowId);
    expect(existsSync(join(stack.env['SLIPWAY_HOME'] ?? '', 'artifacts'))).toBe(false);
  });

  it('releases a good agent: the revision serves and answers a real run', async () => {
    const { code, text } = await project.ran('release', 'staging');
    expect(text).toContain('released');
    expect(code).toBe(0);
    expect(await seen.ask('Hello, I am Grace')).toContain('Grace');
    const [revision, ...others] = await seen.shippedRevisions();
    expect(others, await seen.story('release-1')).toEqual([]);
    expect((await seen.deployment()).active_revision_id).toBe(revision?.id);
    revisions['A'] = revision!.id;

    const { artifact, steps } = await seen.result('release-1');
    expect(steps.map(({ step }) => step)).toEqual(planned.steps.map(({ step }) => step));
    expect(planned.artifact.identity).toMatch(new RegExp(`^${artifact ?? 'none'}`));
  });

  it('plans that the target would join the serving release', async () => {
    const { code, text } = await project.ran('plan', 'release', 'staging');
    expect(code, text).toBe(0);
    expect(text).toMatch(/taken +release-1, already released/);
    expect(text).toContain(`revision ${revisions['A'] ?? ''} serves, verified`);
    expect(text).toContain('files, against what serves: 0 added, 0 removed, 0 changed');
  });

  it('stays under 90 history events, with the deployment created and one check', async () => {
    expect(await seen.eventCount('release-1')).toBeLessThan(90);
  });

  it('joins if the job runs again for the same commit', async () => {
    const { code, process, text } = await project.ran('release', 'staging', '--json');
    expect(code).toBe(0);
    expect(eventsOf(process)).toEqual(expect.arrayContaining(['artifact', 'submitted', 'ended']));
    expect(text).toContain('already_released');
    expect(await seen.shippedRevisions()).toHaveLength(1);
  });

  it('restores the previous revision when the new one answers wrongly, and says why', async () => {
    await project.use('broken/answers-wrongly');
    const summary = join(stack.folder, 'summary.md');
    const onGitHub = {
      GITHUB_ACTIONS: 'true',
      GITHUB_ACTOR: 'ada',
      GITHUB_REF_NAME: 'main',
      GITHUB_STEP_SUMMARY: summary,
    };
    const released = slipway(['release', 'staging'], {
      env: { ...stack.env, ...onGitHub },
      cwd: project.folder,
    });
    expect(await released.exited).toBe(2);
    const text = released.stdout;
    expect(text).toMatch(
      /^::group::[^]*^::endgroup::[^]*^::error title=release-2 on staging%3A rolled back::/m,
    );
    const written = await readFile(summary, 'utf8');
    expect(written).toMatch(/^## ✖ release-2 on staging: rolled back$/m);
    expect(written).toContain(`| restored | \`${revisions['A'] ?? ''}\` |`);
    expect(text).toContain('rolled back');
    expect(text).toMatch(/check "greets"/);
    expect((await seen.deployment()).active_revision_id).toBe(revisions['A']);
    expect(await seen.ask('Hello, I am Grace')).toContain('Grace');
  });

  it('ships B, and then A again', async () => {
    await project.use(goodAgent(2));
    await project.touch('B');
    expect((await project.ran('release', 'staging')).code).toBe(0);
    revisions['B'] = (await seen.deployment()).active_revision_id!;
    await project.use('greeter');
    await project.touch('A');
    expect((await project.ran('release', 'staging')).code).toBe(0);
    const again = (await seen.deployment()).active_revision_id;
    expect(Object.values(revisions)).not.toContain(again);
    revisions['A again'] = again!;
  });

  it('prunes the artifacts that no target needs, and releases a kept one again', async () => {
    const { digest } = await storeUnneeded(stack);
    await makeOld(stack);
    const planned = await project.ran('prune', '--dry-run');
    expect(planned.code, planned.text).toBe(0);
    expect(planned.text).toMatch(new RegExp(`^${digest.slice(0, 19)} .* would be removed +not needed$`, 'm'));
    expect(await storeOf(stack).has(digest)).toBe(true);

    const checks = await storeOf(stack).listRecords('_checks/');
    const { code, text, process } = await project.ran('prune', '--keep', '1', '--json');
    expect(code, text).toBe(0);
    expect(new Set(eventsOf(process))).toEqual(new Set(['pruned_artifact', 'pruned']));
    const ofState = (state: string) => process.lines.filter((line) => line['state'] === state);
    // The target knows the revision that answered wrongly, but not as verified.
    expect(ofState('removed').map(({ last }) => last)).toEqual(
      expect.arrayContaining([null, expect.objectContaining({ releaseId: 'release-2', released: false })]),
    );
    const kept = ofState('kept').map((line) => line['kept']);
    expect(kept).toHaveLength(2);
    expect(kept).toContainEqual(expect.arrayContaining(['serves on staging', 'verified on staging']));
    expect(kept).toContainEqual(['verified on staging']);
    expect(await storeOf(stack).listArtifacts()).toHaveLength(2);
    // Verified revisions are restored under these checks.
    expect(checks.length).toBeGreaterThan(0);
    expect(await storeOf(stack).listRecords('_checks/')).toEqual(checks);
    expect((await project.ran('prune')).text).toContain('0 of 2 artifacts removed');

    await project.use(goodAgent(2));
    await project.touch('B');
    const again = await project.ran('release', 'staging');
    expect(again.code, again.text).toBe(0);
    expect(await storeOf(stack).listArtifacts()).toHaveLength(2);
  });

  it('rolls back by hand to the verified revision before, and holds the target', async () => {
    const { code, text } = await project.ran('rollback', 'staging', '--reason', 'a look at 3 a.m.');
    expect(text).toContain('rolled back');
    expect(code).toBe(0);
    expect((await seen.deployment()).active_revision_id).toBe(revisions['A again']);

    await project.use(goodAgent(3));
    await project.touch('C');
    const refused = await project.ran('release', 'staging');
    expect(refused.code).toBe(4);
    expect(refused.text).toContain('a look at 3 a.m.');

    expect((await project.ran('unhold', 'staging', '--reason', 'looked')).code).toBe(0);
    expect((await project.ran('release', 'staging')).code).toBe(0);
  });

  it('shows the serving revision and the rollback in the status', async () => {
    const { code, text } = await project.ran('status', 'staging');
    expect(code).toBe(0);
    expect(text).toContain((await seen.deployment()).active_revision_id!);
    expect(text).toContain('rolled back');
  });

  it('shows the history, one release, the difference of two, and a log', async () => {
    const history = await project.ran('history', 'staging');
    expect(history.code, history.text).toBe(0);
    const [, , newest, ...older] = history.text.trimEnd().split('\n');
    expect(newest).toMatch(/^ +release-\d+ +✔ released .* sha256:/);
    expect(older.join('\n')).toMatch(/rolled back .*a look at 3 a\.m\./);

    const shown = await project.ran('show', 'release-2');
    expect(shown.code, shown.text).toBe(0);
    expect(shown.text).toMatch(/^release-2 on staging: ✖ rolled back .*SLIPWAY_CHECK_FAILED/);
    expect(shown.text).toMatch(new RegExp(`restored +revision ${revisions['A'] ?? ''}`));
    expect(shown.text).toMatch(/✖ greets on revision/);
    expect(shown.text).toMatch(/asked +by ada/);
    expect(shown.text).toMatch(/ref +main/);

    const { code, text } = await project.ran('show', '--diff', 'release-1', 'release-3', '--json');
    expect(code, text).toBe(0);
    const difference = JSON.parse(text) as {
      event: string;
      configuration: unknown;
      files: { changed: { to: { path: string } }[] };
    };
    expect(difference.event).toBe('difference');
    expect(difference.configuration).toEqual([]);
    expect(difference.files.changed.map(({ to }) => to.path)).toContain('graph.json');

    const [rejected = ''] = /release-\d+(?= +✖ rejected)/.exec(history.text) ?? [];
    const alone = await project.ran('show', rejected, '--diff');
    expect(alone.text).toMatch(new RegExp(`^release-\\d+ → ${rejected} on staging$`, 'm'));

    const logs = await project.ran('logs', 'staging', '--stage', 'build', '--tail', '2');
    expect(logs.code, logs.text).toBe(0);
    expect(logs.text).toMatch(/^Log of revision .+ on "staging": the newest; it serves$/m);
    expect(logs.text).toMatch(/^\d\d:\d\d:\d\d build .+\n\d\d:\d\d:\d\d build .+\n/m);

    const unknown = await project.ran('show', 'release-99');
    expect(unknown.code).toBe(1);
    expect(unknown.text).toContain('SLIPWAY_RELEASE_UNKNOWN');
  });

  it.each([
    ['show', 'release', ['release-2']],
    ['logs', 'log', ['staging', '--tail', '2']],
    ['audit', 'audited', ['staging']],
    ['quarantine', 'quarantine', ['staging', 'image:unknown', '--reason', 'a drill']],
  ])('prints an event with --json: %s', async (command, event, words) => {
    const { code, process, text } = await project.ran(command, ...words, '--json');
    expect(code, text).toBe(0);
    expect(eventsOf(process)).toContain(event);
  });

  it('creates one revision, and releases it, although worker, platform and Temporal are killed meanwhile', async () => {
    await project.touch('killed');
    const before = await seen.shippedRevisions();
    const polling = meet(stack.proxy, REQUESTS.poll);
    const command = project.run('release', 'staging');
    await polling;
    await Promise.all([stack.worker.kill(), stack.platform.kill(), stack.temporal.kill()]);
    await Promise.all([stack.startTemporal(), stack.startPlatform()]);
    await stack.startWorker();
    expect(await command.exited, command.stdout + command.stderr).toBe(0);
    const after = await seen.shippedRevisions();
    expect(after).toHaveLength(before.length + 1);
    expect((await seen.deployment()).active_revision_id).toBe(
      after.find(({ id }) => !before.some((each) => each.id === id))?.id,
    );
    expect(await seen.ask('Hello, I am Grace')).toContain('Grace');
  });

  it('is audited: no rule was violated', async () => {
    const { code, text } = await project.ran('audit', 'staging');
    expect(text).toContain('no rule was violated');
    expect(code).toBe(0);
  });

  it('has sent its receiver a signed notice of each start and each outcome', async () => {
    const expected = ['release-1', 'release-2', 'release-3', 'release-4'].flatMap((name) => [
      `release_started ${name}`,
      `${name === 'release-2' ? 'rolled_back' : 'released'} ${name}`,
    ]);
    await eventually(() => {
      expect(receiver.signed).toEqual(expect.arrayContaining(expected));
    });
    expect(new Set(receiver.signed).size).toBe(receiver.signed.length);
    expect(receiver.unsigned).toEqual([]);
  });

  it('keeps the API key and the receiver’s secrets out of every history and output', async () => {
    const output = (await seen.historiesAsText()) + stack.worker.stderr + stack.worker.stdout;
    for (const secret of [stack.apiKey, ...receiver.secrets]) expect(output).not.toContain(secret);
  });
});
