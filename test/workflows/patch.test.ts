import { expect, it } from 'vitest';

import { describeWorkflows } from './describeWorkflows.ts';
import { followedBy, landsLate, notTaken, refused, unansweredAndLost, unansweredButTaken } from './faults.ts';
import { identity, stepNames, tarball } from './requests.ts';

const IMAGE = { kind: 'image', uri: 'registry.test/agent:2' } as const;
const BRANCH = { kind: 'git', ref: 'main' } as const;

describeWorkflows('a PATCH', (harness) => {
  it('that was taken but not answered is adopted: one PATCH, one revision', async () => {
    const { target } = harness.newServingTarget();
    target.world.next('patchDeployment', unansweredButTaken);
    const result = await target.release('b');
    const [revisionId, ...more] = target.world.revisionsOf(tarball('b'));
    expect(more).toEqual([]);
    expect(result).toMatchObject({ outcome: 'released', revisionId, extraRevisionIds: [] });
    expect(result.steps.find(({ step }) => step === 'patch')?.detail).toBe(`adopted revision ${revisionId}`);
    expect(target.world.count('patchDeployment')).toBe(1);
  });

  it.each([
    ['connection refused', notTaken()],
    ['429 with a delay', notTaken('SLIPWAY_RATE_LIMITED', 30)],
    ['503', notTaken('SLIPWAY_SERVICE_ERROR')],
  ])('that was surely not taken (%s) is sent again', async (_, fault) => {
    const { target } = harness.newServingTarget();
    target.world.next('patchDeployment', fault);
    const result = await target.release('b');
    expect(result).toMatchObject({ outcome: 'released' });
    expect(result.steps.find(({ step }) => step === 'patch')?.attempts).toBe(2);
    expect(target.world.revisionsOf(tarball('b'))).toHaveLength(1);
  });

  it('is sent again no sooner than a 429 asks for', async () => {
    const { target } = harness.newServingTarget();
    target.world.next('patchDeployment', notTaken('SLIPWAY_RATE_LIMITED', 400));
    await target.release('b');
    const [first, second] = target.world.calls.filter(({ activity }) => activity === 'patchDeployment');
    expect((second?.startedAt ?? 0) - (first?.endedAt ?? 0)).toBeGreaterThan(350);
  });

  it('that a 429 puts off past the deadline of the step fails the release at once', async () => {
    const { target, good } = harness.newServingTarget();
    target.world.next('patchDeployment', notTaken('SLIPWAY_RATE_LIMITED', 3_600_000));
    const result = await target.release('b');
    expect(result).toMatchObject({
      outcome: 'failed',
      code: 'SLIPWAY_RATE_LIMITED',
      servingRevisionId: good,
    });
    expect(target.world.redeployed).toEqual([]);
  });

  it('that is turned away each time ends failed, with every attempt counted', async () => {
    const { target } = harness.newServingTarget();
    target.world.next('patchDeployment', notTaken(), notTaken(), notTaken());
    const result = await target.release('b');
    expect(result).toMatchObject({ outcome: 'failed', code: 'SLIPWAY_UNREACHABLE' });
    expect(result.steps.find(({ step }) => step === 'patch')?.attempts).toBe(3);
    expect(target.world.redeployed).toEqual([]);
  });

  it('that was not answered and is not there on reading is sent again: one revision', async () => {
    const { target } = harness.newServingTarget();
    target.world.next('patchDeployment', unansweredAndLost);
    const result = await target.release('b');
    expect(result).toMatchObject({ outcome: 'released', extraRevisionIds: [] });
    expect(target.world.count('patchDeployment')).toBe(2);
    expect(target.world.revisionsOf(tarball('b'))).toHaveLength(1);
  });

  it('that lands late, after it was sent again, is reported as an extra revision', async () => {
    const { target } = harness.newServingTarget();
    target.world.next(
      'patchDeployment',
      landsLate((world) => world.called('patchDeployment', 2)),
    );
    const result = await target.release('b');
    const revisions = target.world.revisionsOf(tarball('b'));
    expect(revisions).toHaveLength(2);
    const extra = revisions.filter((revisionId) => revisionId !== result.revisionId);
    expect(result.extraRevisionIds).toEqual(extra);
    expect(result.outcome).toBe('released');
    expect(result.reason).toContain(`extra revisions: ${extra.join()}`);
  });

  it('that lands between two looks is adopted and never sent again', async () => {
    const { target } = harness.newServingTarget();
    target.world.next(
      'patchDeployment',
      landsLate((world) => world.called('readDeployment', 1)),
    );
    const result = await target.release('b');
    expect(target.world.count('patchDeployment')).toBe(1);
    expect(result).toMatchObject({
      outcome: 'released',
      revisionId: target.world.revisionsOf(tarball('b'))[0],
    });
  });

  it('is not sent a third time, after an unknown and a refused attempt, without another look', async () => {
    const { target } = harness.newServingTarget();
    target.world.next(
      'patchDeployment',
      landsLate((world) => world.called('patchDeployment', 2)),
      notTaken(),
    );
    const result = await target.release('b');
    expect(target.world.count('patchDeployment')).toBe(2);
    expect(target.world.revisionsOf(tarball('b'))).toEqual([result.revisionId]);
    expect(result.outcome).toBe('released');
  });

  it('that is refused only after an unknown attempt may have been taken: the baseline is restored', async () => {
    const { target, good } = harness.newServingTarget();
    target.world.next('patchDeployment', unansweredAndLost, refused());
    const result = await target.release('b');
    expect(result).toMatchObject({
      outcome: 'rolled_back',
      code: 'SLIPWAY_REFUSED',
      servingRevisionId: good,
    });
    expect(target.world.redeployed).toEqual([good]);
  });

  it('that is never answered and never there restores the baseline', async () => {
    const { target, good } = harness.newServingTarget();
    target.world.next('patchDeployment', unansweredAndLost, unansweredAndLost, unansweredAndLost);
    const result = await target.release('b');
    expect(result).toMatchObject({
      outcome: 'rolled_back',
      code: 'SLIPWAY_NO_ANSWER',
      revisionId: null,
      servingRevisionId: good,
    });
    expect(target.world.count('patchDeployment')).toBe(3);
  });

  it('that lands only while the baseline is restored is reported, watched, and not taken for the redeploy', async () => {
    const { target, good } = harness.newServingTarget();
    target.world.slow.add(identity('b'));
    let land: () => Promise<unknown> = () => Promise.resolve();
    target.world.next('patchDeployment', unansweredAndLost, unansweredAndLost, (perform, world) => {
      land = perform;
      return unansweredAndLost(perform, world);
    });
    // It lands before the redeploy's answer is made: there it is "the latest".
    target.world.next('redeployRevision', async (perform) => {
      await land();
      return perform();
    });
    const result = await target.release('b');
    const [extra] = target.world.revisionsOf(tarball('b'));
    expect(result).toMatchObject({
      outcome: 'rolled_back',
      servingRevisionId: good,
      extraRevisionIds: [extra],
      givenUpRevisionIds: [extra],
    });
    expect((await target.view()).state.late).toMatchObject([{ revisionId: extra, restoreTo: good }]);
  });

  it('followed at once by somebody else’s PATCH is followed by its own revision', async () => {
    const { target } = harness.newServingTarget();
    target.world.next(
      'patchDeployment',
      followedBy((world) => void world.patchElsewhere()),
    );
    const result = await target.release('b');
    expect(result).toMatchObject({
      outcome: 'released',
      revisionId: target.world.revisionsOf(tarball('b'))[0],
    });
  });

  it('whose answer shows somebody else’s revision as the latest is found by its upload path', async () => {
    const { target } = harness.newServingTarget();
    target.world.next('patchDeployment', async (perform, world) => {
      await perform();
      world.patchElsewhere();
      return world.activities.readDeployment(undefined as never);
    });
    const result = await target.release('b');
    expect(target.world.count('patchDeployment')).toBe(1);
    expect(result).toMatchObject({
      outcome: 'released',
      revisionId: target.world.revisionsOf(tarball('b'))[0],
    });
  });

  it('that was answered is never sent again, however long its revision cannot be seen', async () => {
    const { target, good } = harness.newServingTarget();
    target.world.next('patchDeployment', (_, world) => world.activities.readDeployment(undefined as never));
    const result = await target.release('b');
    expect(target.world.count('patchDeployment')).toBe(1);
    expect(result).toMatchObject({
      outcome: 'errored',
      code: 'SLIPWAY_OUTCOME_UNKNOWN',
      servingRevisionId: good,
    });
    expect(result.instructions).toContain('needs a person');
  });

  it('that was answered is never sent again, when the deployment cannot be read afterwards', async () => {
    const { target } = harness.newServingTarget();
    target.world.next('patchDeployment', async (perform, world) => {
      await perform();
      world.patchElsewhere();
      return world.activities.readDeployment(undefined as never);
    });
    target.world.next('readDeployment', refused('SLIPWAY_UNAUTHORIZED', 401));
    const result = await target.release('b');
    expect(target.world.count('patchDeployment')).toBe(1);
    expect(result).toMatchObject({ outcome: 'errored', code: 'SLIPWAY_OUTCOME_UNKNOWN' });
  });

  it.each([
    ['an image', IMAGE],
    ['a git ref', BRANCH],
  ])('of %s with an unknown answer is never sent again: errored, and restored', async (_, artifact) => {
    const { target, good } = harness.newServingTarget();
    target.world.next('patchDeployment', unansweredAndLost);
    const result = await target.release('b', { artifact, graphConfigPath: null });
    expect(target.world.count('patchDeployment')).toBe(1);
    expect(result).toMatchObject({
      outcome: 'errored',
      code: 'SLIPWAY_OUTCOME_UNKNOWN',
      servingRevisionId: good,
      servingVerified: true,
    });
    expect(result.instructions).toContain('needs a person');
    expect(target.world.redeployed).toEqual([good]);
  });

  it('of an image that was taken but not answered is adopted when reading shows it', async () => {
    const { target } = harness.newServingTarget();
    target.world.next('patchDeployment', unansweredButTaken);
    const result = await target.release('b', { artifact: IMAGE, graphConfigPath: null });
    expect(result.outcome).toBe('released');
    expect(target.world.count('patchDeployment')).toBe(1);
  });
});

describeWorkflows('creating a deployment', (harness) => {
  it('that was taken but not answered is adopted by its name', async () => {
    const target = harness.newTarget();
    target.world.next('createDeployment', unansweredButTaken);
    const result = await target.release('a');
    expect(result.outcome).toBe('released');
    expect(target.world.count('createDeployment')).toBe(1);
  });

  it('that landed late answers a conflict to the second request: then it is adopted', async () => {
    const target = harness.newTarget();
    target.world.next(
      'createDeployment',
      landsLate((world) => world.called('createDeployment', 2)),
      refused('SLIPWAY_CONFLICT', 409),
    );
    const result = await target.release('a');
    expect(result.outcome).toBe('released');
    expect(target.world.count('createDeployment')).toBe(2);
  });

  it('that cannot be looked up after an unknown answer is errored, with what to do', async () => {
    const target = harness.newTarget();
    target.world.next('findDeployment', (perform) => perform(), refused('SLIPWAY_NOT_FOUND', 404));
    target.world.next('createDeployment', unansweredAndLost);
    const result = await target.release('a');
    expect(result).toMatchObject({
      outcome: 'errored',
      code: 'SLIPWAY_OUTCOME_UNKNOWN',
      deploymentId: null,
    });
    expect(result.reason).not.toContain('was not changed');
    expect(result.instructions).toContain('needs a person');
    expect(target.world.count('createDeployment')).toBe(1);
  });

  it('that is refused ends failed', async () => {
    const target = harness.newTarget();
    target.world.next('createDeployment', refused('SLIPWAY_CONFLICT', 409));
    const result = await target.release('a');
    expect(result).toMatchObject({ outcome: 'failed', code: 'SLIPWAY_CONFLICT' });
    expect(stepNames(result)).toEqual(['find done', 'create failed', 'record done']);
  });

  it('yields a revision of its own, which is never gone back to', async () => {
    const target = harness.newTarget();
    target.world.broken.set(identity('a'), 'BUILD_FAILED');
    const result = await target.release('a');
    expect(result.baseline).toEqual({ revisionId: null, verified: false });
    expect(result.outcome).toBe('failed');
    expect(target.world.redeployed).toEqual([]);
  });
});
