import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Observer } from './observer.ts';
import { GREETS, Project } from './project.ts';
import { Stack } from './stack.ts';

let stack: Stack;
beforeAll(async () => {
  // A revision that never gets ready is given up on by the platform after this time.
  stack = await Stack.start({ SLIPWAY_READY_TIMEOUT_MS: '15000' });
});
afterAll(() => stack.stop());

describe('a release of a broken agent', () => {
  let project: Project;
  let seen: Observer;
  let good: string;

  beforeAll(async () => {
    project = await Project.create(stack, {
      example: 'greeter',
      deployment: 'broken',
      checks: [{ ...GREETS, expect: { contains: 'Ada', maxLatency: '5s' } }],
    });
    seen = new Observer(stack, 'broken');
    expect((await project.ran('release', 'staging')).code).toBe(0);
    good = (await seen.deployment()).active_revision_id!;
  });

  it.each([
    ['does-not-install', /BUILD_FAILED.*install/is],
    ['does-not-build', /BUILD_FAILED.*build/is],
    ['graph-names-nothing', /(BUILD|DEPLOY)_FAILED/],
    ['crashes-at-start', /DEPLOY_FAILED/],
    ['never-ready', /DEPLOY_FAILED/],
    ['answers-wrongly', /check "greets": .*does not contain/],
    ['answers-slowly', /check "greets": .*(took|timeout)/],
    ['run-fails', /check "greets": the run ended "error"/],
  ])(
    'that %s is rolled back, with the reason, while the good revision serves on',
    async (variant, reason) => {
      await project.use(`broken/${variant}`);
      const { code, text } = await project.ran('release', 'staging');
      expect(text).toMatch(reason);
      expect(text).toContain('rolled back');
      expect(code).toBe(2);
      expect((await seen.deployment()).active_revision_id).toBe(good);
      expect(await seen.ask('Hello, I am Grace')).toContain('Grace');
      await project.use('greeter');
    },
  );
});

it('what must always hold has held in all of it', async () => {
  expect(await stack.audit()).toEqual([]);
});
