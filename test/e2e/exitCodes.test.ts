import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';

import { meet, PASS, REQUESTS } from './faultProxy.ts';
import { Pool } from './pool.ts';
import { Process, slipway } from './processes.ts';
import { ServingDeployment, withDeployment } from './servingDeployment.ts';
import { eventually } from './stack.ts';
import { useAuditedStack } from './useStack.ts';

const stack = useAuditedStack();
let deployments: Pool<ServingDeployment>;

beforeAll(async () => {
  deployments = new Pool(await ServingDeployment.several(stack, 'exit-codes', 2));
});

const onDeployment = (work: Parameters<typeof withDeployment>[1]): Promise<void> =>
  withDeployment(deployments, work);

const { find, poll, redeploy } = REQUESTS;

interface Frozen {
  readonly targets: { readonly staging: { freezes?: object[] } };
  readonly artifact: object;
}

describe.concurrent('a control plane that rejects', () => {
  it('the key from the start: the release fails before anything is changed', () =>
    onDeployment(async (on) => {
      const before = await on.seen.shippedRevisions();
      void meet(on, find, { kind: 'answer', status: 401 }, 1);
      const ended = await on.project.ran('release', 'staging');
      expect(ended.code).toBe(2);
      expect(ended.text).toContain('SLIPWAY_UNAUTHORIZED');
      expect(ended.text).toContain('changed nothing that served');
      expect(await on.seen.shippedRevisions()).toEqual(before);
    }));
});

describe.concurrent('a rollback by signal', () => {
  it('to the serving revision preempts a polling release, and it serves again', () =>
    onDeployment(async (on, good) => {
      const polling = meet(on, poll);
      const following = on.project.run('release', 'staging');
      await polling;
      const client = await stack.client();
      const { running } = await on.seen.target();
      const [targetId] = running!.workflowId.split('/release-');
      await client.workflow
        .getHandle(targetId!)
        .signal('rollback', { reason: 'it looks wrong', who: 'ada', to: good });
      expect(await following.exited).toBe(2);
      const result = await on.seen.result(running!.releaseId);
      expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
      expect(result.reason).toContain('it looks wrong');
      expect((await on.seen.target()).state.hold?.by.reason).toBe('it looks wrong');
      expect((await on.project.ran('unhold', 'staging', '--reason', 'tested')).code).toBe(0);
    }));
});

describe.concurrent('a release that cannot be rolled back', () => {
  it('ends with 3, and says what a person must do', () =>
    onDeployment(async (on) => {
      void meet(on, redeploy, { kind: 'answer', status: 422 });
      await on.project.use({ says: 'No.' });
      const ended = await on.project.ran('release', 'staging');
      expect(ended.code, ended.text).toBe(3);
      expect(ended.text).toContain('rollback failed');
      expect((await on.project.ran('status', 'staging')).text).toContain('NEEDS A PERSON');

      on.rule = PASS;
      await on.change();
      expect((await on.project.ran('release', 'staging')).code).toBe(0);
    }));
});

describe.concurrent('an abort', () => {
  it('ends with 4 the commands that follow the release and watch the target, and later stops nothing', () =>
    onDeployment(async (on) => {
      const watching = on.project.run('watch', 'staging', '--json');
      await watching.line(({ event }) => event === 'idle');
      const polling = meet(on, poll);
      const following = on.project.run('release', 'staging');
      await polling;
      const abort = await on.project.ran('abort', 'staging', '--reason', 'changed my mind');
      expect(abort.code, abort.text).toBe(0);
      expect(abort.text).toContain('the release stops');
      expect(await following.exited).toBe(4);
      expect(following.stdout + following.stderr).toContain('changed my mind');
      expect(await watching.exited).toBe(4);
      expect(watching.lines.at(-1)).toMatchObject({ event: 'ended', outcome: 'aborted' });
      for (const meant of [[], ['--release', 'release-1']]) {
        const late = await on.project.ran('abort', 'staging', ...meant);
        expect(late.code).toBe(4);
        expect(late.text).toContain('SLIPWAY_WRONG_MOMENT');
      }
    }));
});

describe.concurrent('a command that is interrupted while it follows a release', () => {
  /** Follows a release that polls for its revision until the proxy's rule changes. */
  async function following(on: ServingDeployment, ...flags: string[]): Promise<Process> {
    const polls = meet(on, poll, { kind: 'answer', status: 503 });
    const command = on.project.run('release', 'staging', ...flags);
    // An earlier poll may be for another release's revision, which the target still watches.
    await command.line((line) => JSON.stringify(line).includes('release-'));
    await polls;
    return command;
  }

  it('ends with 5 and says that the release continues, which it does', () =>
    onDeployment(async (on, good) => {
      const command = await following(on);
      command.child.kill('SIGINT');
      expect(await command.exited).toBe(5);
      expect(command.stdout.trimEnd().split('\n').at(-1)).toBe(
        'stopped watching; the release continues. See: slipway status staging',
      );
      const timed = await on.project.ran('watch', 'staging', '--timeout', '1s');
      expect(timed.code, timed.text).toBe(5);
      expect(timed.text).toContain('timed out; the release continues');
      on.rule = PASS;
      const joined = await on.project.ran('release', 'staging');
      expect(joined.code, joined.text).toBe(0);
      expect(joined.text).toMatch(/release-\d+: (joined|already released)/);
      expect(await on.active()).not.toBe(good);
    }));

  it('joins it when it runs again, although a freeze that refuses releases has begun', () =>
    onDeployment(async (on) => {
      const command = await following(on);
      const { folder } = on.project;
      const config = parse(await readFile(join(folder, 'slipway.yaml'), 'utf8')) as Frozen;
      const always = { name: 'always', from: '2020-01-01', until: '2999-01-01', then: 'refuse' };
      config.targets.staging.freezes = [always];
      const file = `${folder}-frozen.yaml`;
      await writeFile(
        file,
        stringify({ ...config, artifact: { ...config.artifact, path: basename(folder) } }),
      );
      const again = () => on.project.ran('release', 'staging', '--no-wait', '--config', file);
      expect(await again()).toMatchObject({ code: 0, text: expect.stringMatching(/release-\d+: joined/) });
      on.rule = PASS;
      expect(await command.exited).toBe(0);
      await on.change();
      expect(await again()).toMatchObject({
        code: 4,
        text: expect.stringContaining('SLIPWAY_TARGET_FROZEN'),
      });
    }));

  it('aborts the release with --abort-on-interrupt, and reports it: the previous revision serves again', () =>
    onDeployment(async (on, good) => {
      const command = await following(on, '--abort-on-interrupt');
      command.child.kill('SIGTERM');
      expect(await command.exited, command.stderr).toBe(5);
      expect(command.stdout.trimEnd().split('\n').at(-1)).toMatch(
        /^stopped watching; release-\d+ was asked to abort: .+\. See: slipway status staging$/,
      );
      on.rule = PASS;
      const { running } = await on.seen.target();
      await eventually(async () => {
        expect((await on.seen.target()).running).toBeNull();
      });
      const last = (await on.seen.target()).state.history.at(-1);
      expect(last).toMatchObject({ outcome: 'aborted', servingRevisionId: good });
      expect(last?.reason).toContain('the command that followed it was interrupted');
      expect(running?.releaseId ?? last?.releaseId).toBe(last?.releaseId);
    }));
});

it.concurrent.each([
  ['no worker polls the task queue', 'SLIPWAY_NO_WORKER', { SLIPWAY_TASK_QUEUE: 'unpolled' }],
  ['Temporal is away', 'SLIPWAY_TEMPORAL_UNREACHABLE', { TEMPORAL_ADDRESS: '127.0.0.1:1' }],
])('a release is not started if %s: exit code 6', (_what, code, env) =>
  onDeployment(async ({ project }) => {
    const refused = slipway(['release', 'staging'], { env: { ...stack.env, ...env }, cwd: project.folder });
    expect(await refused.exited).toBe(6);
    expect(refused.stderr).toContain(code);
  }),
);

it('a second interrupt exits immediately, even if no worker takes the abort', () =>
  onDeployment(async (on) => {
    const command = on.project.run('release', 'staging', '--abort-on-interrupt');
    await command.line((line) => JSON.stringify(line).includes('queued'));
    stack.worker.child.kill('SIGSTOP');
    try {
      command.child.kill('SIGINT');
      await eventually(() => {
        expect(command.stderr).toMatch(/asking release-\d+ to abort/);
        expect(command.stderr).toContain('a second interrupt exits immediately');
      });
      command.child.kill('SIGINT');
      expect(await command.exited).toBe(130);
    } finally {
      stack.worker.child.kill('SIGCONT');
    }
  }));

describe.concurrent('the scripts of the worker’s container', () => {
  const script = async (name: string, variables: Readonly<Record<string, string>> = {}) => {
    const path = fileURLToPath(new URL(`../../docker/${name}.mjs`, import.meta.url));
    const ran = new Process(process.execPath, [path], { env: { ...stack.env, ...variables } });
    return { code: await ran.exited, said: ran.stderr };
  };

  it('find the search attributes registered, and the worker healthy while it polls', async () => {
    expect(await script('searchAttributes')).toEqual({ code: 0, said: '' });
    expect(await script('workerHealth')).toEqual({ code: 0, said: '' });
    const { code, said } = await script('workerHealth', { SLIPWAY_TASK_QUEUE: 'another' });
    expect(code).toBe(1);
    expect(said).toContain('no worker of this container polls the task queue "another"');
  });
});
