import { beforeAll, describe, expect, it } from 'vitest';

import { meet, PASS, REQUESTS } from './faultProxy.ts';
import { slipway } from './processes.ts';
import { goodAgent, ServingDeployment } from './servingDeployment.ts';
import { useStack } from './useStack.ts';

const stack = useStack();
let on: ServingDeployment;
beforeAll(async () => {
  const [only] = await ServingDeployment.several(stack, 'rolled-back', 1);
  on = only!;
});

const rollBack = (...words: string[]) =>
  on.project.ran('rollback', 'staging', '--reason', 'errors', ...words);

describe('slipway rollback', () => {
  const revisions: string[] = [];

  it('rejects an unknown name before it holds the target, and lists the revisions', async () => {
    revisions.push((await on.active())!);
    await on.project.use(goodAgent(1));
    expect((await on.project.ran('release', 'staging')).code).toBe(0);
    revisions.push((await on.active())!);

    const { code, text } = await rollBack('--to', 'relaese-1');
    expect(code, text).toBe(1);
    expect(text).toContain('no revision or release of this target is called "relaese-1"');
    for (const [index, revision] of revisions.entries())
      expect(text).toMatch(new RegExp(`revision ${revision} \\(release-${index + 1}, .*sha256:`));
    const unknown = await rollBack('--to', '7b1f3c5e-0000-4000-8000-000000000000');
    expect(unknown.code, unknown.text).toBe(1);
    expect(unknown.text).toContain('the control plane has no revision');
    expect((await on.seen.target()).state.hold).toBeNull();
  });

  it('says why the target refused a request that it answered late, and claims no hold', async () => {
    void meet(on, REQUESTS.poll, { kind: 'hold', until: new Promise(() => undefined) });
    const { code, text } = await rollBack('--to', '7b1f3c5e-0000-4000-8000-000000000001');
    on.rule = PASS;
    expect(code, text).toBe(1);
    expect(text).toContain('the target has not answered within 5 s');
    expect(text).toContain('the control plane was asked in vain');
    expect(text).not.toContain('hold');
  });

  it('aborts an uploading release, and leaves the serving revision', async () => {
    let release = (): void => undefined;
    const until = new Promise<void>((resolve) => (release = resolve));
    const uploading = meet(on, REQUESTS.uploadUrl, { kind: 'hold', until });
    await on.project.use(goodAgent(2));
    const releasing = on.project.run('release', 'staging');
    await uploading;
    const { code, text } = await rollBack();
    release();
    on.rule = PASS;
    expect(code, text).toBe(0);
    expect(text).toContain(`release-3 is being stopped; revision ${revisions[0] ?? ''} (release-1, `);
    expect(text).toMatch(/rolled back .*rollback-4/);
    expect(await releasing.exited).toBe(4);
    expect(await on.active()).toBe(revisions[0]);
    expect((await on.seen.target()).state.hold).not.toBeNull();
  });

  it('accepts a prefix of an id, also on a hold; the same request joins it and follows it to its end', async () => {
    let release = (): void => undefined;
    const until = new Promise<void>((resolve) => (release = resolve));
    const redeployed = meet(on, REQUESTS.poll, { kind: 'hold', until });
    const first = rollBack('--to', revisions[1]!.slice(0, 8));
    await redeployed;
    const second = on.project.run('rollback', 'staging', '--to', 'release-2', '--json');
    expect(await second.line(({ event }) => event === 'submitted')).toMatchObject({ disposition: 'joined' });
    release();
    const [{ code, text }] = await Promise.all([first, second.exited]);
    on.rule = PASS;
    expect(code, text).toBe(0);
    expect(second.lines.at(-1)).toMatchObject({ event: 'ended', outcome: 'rolled_back', exitCode: 0 });
    expect(await on.active()).toBe(revisions[1]);
  });

  it('without the key changes nothing right after a restore, and names what serves: exit code 0', async () => {
    const env = { ...stack.env, SLIPWAY_API_KEY: '', SLIPWAY_HOME: `${stack.folder}/elsewhere` };
    const asked = slipway(['rollback', 'staging', '--json'], { env, cwd: on.project.folder });
    expect(await asked.exited, asked.stderr).toBe(0);
    expect(asked.lines).toMatchObject([
      { event: 'submitted', disposition: 'done', serves: { revisionId: revisions[1], release: 'release-2' } },
      { event: 'ended', outcome: 'rolled_back', exitCode: 0 },
    ]);
    expect(await on.active()).toBe(revisions[1]);
  });

  it('ends with 2 if the named revision cannot be deployed, and says what serves', async () => {
    await on.project.use(goodAgent(3));
    const released = await on.project.ran('release', 'staging', '--override-hold', '--reason', 'a fix');
    expect(released.code, released.text).toBe(0);
    const named = `/${revisions[0] ?? ''}/redeploy`;
    void meet(on, ({ path }) => path.endsWith(named), { kind: 'answer', status: 422 });
    const { code, text } = await rollBack('--to', 'release-1');
    on.rule = PASS;
    expect(code, text).toBe(2);
    expect(text).toContain(`revision ${revisions[0] ?? ''} was not reached`);
    expect(text).toContain('SLIPWAY_REVISION_NOT_REACHED');
    expect(await on.active()).toBe(revisions[1]);
  });

  it('with the key leaves what serves now, also right after a restore: no earlier revision is left to restore', async () => {
    const { code, text } = await rollBack();
    expect(code, text).toBe(2);
    expect(text).toContain(`it is restored only by name: --to ${revisions[0] ?? ''}`);
    expect(await on.active()).toBe(revisions[1]);
  });
});
