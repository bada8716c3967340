import { setTimeout } from 'node:timers/promises';

import { expect, it } from 'vitest';

import type { FreezeWindow } from '../../../src/domain/freeze/freeze.ts';
import type { GuardPolicy } from '../../../src/domain/guard/guardPolicy.ts';
import type { Outcome } from '../../../src/domain/release/outcome.ts';
import type { ReleaseRequest } from '../../../src/domain/release/release.ts';
import { describeWorkflows } from '../describeWorkflows.ts';
import { notTaken, overtaken, refused, unansweredAndLost, unansweredButTaken } from '../faults.ts';
import { heldIn, waitingFor } from '../moments.ts';
import { identity, stepNames } from '../requests.ts';
import type { Fault } from '../world.ts';

const FREEZES: readonly FreezeWindow[] = [
  { name: 'weekend', timeZone: 'UTC', from: 'Fri 16:00', until: 'Mon 08:00', then: 'wait' },
];
const GUARD: GuardPolicy = {
  ...{ forMs: 60_000, everyMs: 1_000, afterMs: 0, noData: 'continue' },
  metrics: [
    { name: 'errors', source: { kind: 'http', url: 'http://metrics.test/errors', path: 'value' }, max: 0.05 },
  ],
};
const IMAGE: Partial<ReleaseRequest> = {
  artifact: { kind: 'image', uri: 'registry.test/agent:2' },
  graphConfigPath: null,
};
const frozen = (then: 'wait' | 'refuse', forMs: number) => ({
  name: 'weekend',
  timeZone: 'UTC',
  then,
  until: Date.now() + forMs,
});

describeWorkflows('a release on a target with freezes', (harness) => {
  it('is not delayed if none is in force', async () => {
    const { target } = harness.newServingTarget();
    const result = await target.release('b', { freezes: FREEZES });
    expect(result.outcome).toBe('released');
    expect(stepNames(result)).toContain('freeze done');
  });

  it('waits until it ends, with nothing changed', async () => {
    const { target } = harness.newServingTarget();
    target.world.next('lookAtFreezes', () => Promise.resolve({ frozen: frozen('wait', 200) }));
    const { outcome, steps } = await target.release('b', { freezes: FREEZES });
    expect(outcome).toBe('released');
    const looks = steps.filter(({ step }) => step === 'freeze');
    expect(looks.map(({ detail }) => detail)).toEqual([
      expect.stringContaining('frozen by "weekend" until'),
      'no freeze is in force',
    ]);
    const [first, last] = looks;
    expect(Date.parse(last!.startedAt) - Date.parse(first!.startedAt)).toBeGreaterThanOrEqual(190);
  });

  it('ends if the freeze rejects, with nothing changed, and with the reason', async () => {
    const { target, good } = harness.newServingTarget();
    target.world.frozen = frozen('refuse', 60_000);
    const result = await target.release('b', { freezes: FREEZES });
    expect(result).toMatchObject({ outcome: 'aborted', servingRevisionId: good });
    expect(result.reason).toContain('frozen by "weekend"');
    expect(target.world.count('uploadArtifact')).toBe(0);
  });

  it('continues if it was requested with an override, which is recorded', async () => {
    const { target } = harness.newServingTarget();
    target.world.frozen = frozen('refuse', 60_000);
    const requestedBy = { who: 'ada', from: 'test', reason: 'incident 42' };
    const result = await target.release('b', { freezes: FREEZES, overrideFreeze: true, requestedBy });
    expect(result).toMatchObject({ outcome: 'released', requestedBy });
    expect(result.steps.find(({ step }) => step === 'freeze')?.detail).toMatch(
      /frozen by "weekend" .*overridden by ada/,
    );
  });

  it('continues on a person’s override while it waits', async () => {
    const { target } = harness.newServingTarget();
    target.world.frozen = frozen('wait', 60_000);
    const releaseId = await waitingFor('freeze', target, 'b', { freezes: FREEZES });
    await target.say(releaseId, 'skip', { who: 'bo', reason: 'incident 42', what: 'freeze' });
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ outcome: 'released', servingVerified: true });
    expect(stepNames(result)).toContain('freeze skipped');
    expect(result.interventions).toMatchObject([{ kind: 'skip', by: { reason: 'incident 42' } }]);
  });

  it.each<[string, Partial<ReleaseRequest>, Fault, Outcome]>([
    ['', {}, (perform) => perform(), 'rolled_back'],
    [' whose answer was lost', {}, unansweredButTaken, 'rolled_back'],
    [' that may not have been applied', IMAGE, overtaken(unansweredButTaken), 'errored'],
  ])(
    'restores what served at the PATCH%s if another tool replaced the baseline during the freeze',
    async (_, request, patched, outcome) => {
      const { target, good } = harness.newServingTarget();
      await target.release('b');
      target.world.bad.add(identity('c'));
      target.world.frozen = frozen('wait', 60_000);
      target.world.next('patchDeployment', patched);
      const releaseId = await waitingFor('freeze', target, 'c', { ...request, freezes: FREEZES });
      target.world.bringUp(good);
      await target.say(releaseId, 'skip', { who: 'bo', reason: 'incident 42', what: 'freeze' });
      const result = await target.result(releaseId);
      expect(result).toMatchObject({ outcome, servingRevisionId: good, servingVerified: true });
      expect(target.world.active).toBe(good);
      expect(result.baseline).toMatchObject({ revisionId: good, verified: true });
    },
  );

  it('waits for a freeze that began while it was paused', async () => {
    const { target } = harness.newServingTarget();
    target.world.unfrozenMs = 100;
    const { releaseId, gate } = await heldIn('uploadArtifact', target, 'b', { freezes: FREEZES });
    await target.say(releaseId, 'pause');
    target.world.frozen = frozen('wait', 60_000);
    gate.open();
    await target.waitsFor(releaseId, 'resume');
    await setTimeout(target.world.unfrozenMs);
    await target.say(releaseId, 'resume');
    await target.waitsFor(releaseId, 'freeze');
    expect(target.world.count('patchDeployment')).toBe(0);
    await target.say(releaseId, 'skip', { who: 'bo', reason: 'incident 42', what: 'freeze' });
    expect(stepNames(await target.result(releaseId))).toEqual(
      expect.arrayContaining(['freeze done', 'freeze skipped', 'patch done']),
    );
  });

  it.each<[string, Fault, 'retry' | null]>([
    ['not applied', notTaken(), null],
    ['not answered, and lost', unansweredAndLost, null],
    ['not applied, until a person retried it', refused('SLIPWAY_UNAUTHORIZED', 401), 'retry'],
  ])('waits for a freeze that began while its PATCH was %s', async (_, fault, decision) => {
    const { target } = harness.newServingTarget();
    target.world.unfrozenMs = 100;
    target.world.next('patchDeployment', async (perform, world) => {
      world.frozen = frozen('wait', 60_000);
      await setTimeout(world.unfrozenMs);
      return fault(perform, world);
    });
    const onError = { then: 'wait', waitMs: 60_000 } as const;
    const { releaseId } = await target.submit('b', { freezes: FREEZES, onError });
    if (decision !== null) {
      await target.waitsFor(releaseId, 'decision');
      await target.say(releaseId, decision);
    }
    await target.waitsFor(releaseId, 'freeze');
    expect(target.world.count('patchDeployment')).toBe(1);
    await target.say(releaseId, 'skip', { who: 'bo', reason: 'incident 42', what: 'freeze' });
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'released', servingVerified: true });
    expect(target.world.count('patchDeployment')).toBe(2);
  });

  it.each<[string, Fault, 'freeze' | 'decision']>([
    ['a freeze', notTaken(), 'freeze'],
    ['a freeze, after no answer', unansweredAndLost, 'freeze'],
    ['a person', refused('SLIPWAY_UNAUTHORIZED', 401), 'decision'],
  ])('is guarded while its next release waits for %s to send its PATCH again', async (_, fault, what) => {
    const { target, good } = harness.newServingTarget();
    // Longer than the signal takes that a release is about to change what serves.
    target.world.unfrozenMs = 2_000;
    await target.release('b', { guard: GUARD });
    target.world.next('patchDeployment', async (perform, world) => {
      world.frozen = frozen('wait', 60_000);
      await setTimeout(world.unfrozenMs);
      return fault(perform, world);
    });
    const onError = { then: 'wait', waitMs: 60_000 } as const;
    const { releaseId } = await target.submit('c', { freezes: FREEZES, onError });
    await target.waitsFor(releaseId, what);
    target.world.measures = () => 0.12;
    expect(await target.result(releaseId)).toMatchObject({
      reason: expect.stringContaining('stopped by a rollback by guard') as unknown,
      revisionId: null,
    });
    const { state } = await target.idle();
    expect(state.activeRevisionId).toBe(good);
  });

  it('waits for a freeze that began before a deployment that deploys at once was created again', async () => {
    const target = harness.newTarget();
    target.world.unfrozenMs = 100;
    target.world.next('createDeployment', async (_, world) => {
      world.frozen = frozen('wait', 60_000);
      await setTimeout(world.unfrozenMs);
      return notTaken()(() => Promise.resolve(), world);
    });
    const { releaseId } = await target.submit('b', { ...IMAGE, freezes: FREEZES });
    await target.waitsFor(releaseId, 'freeze');
    expect(target.world.count('createDeployment')).toBe(1);
    await target.say(releaseId, 'skip', { who: 'bo', reason: 'incident 42', what: 'freeze' });
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'released' });
  });

  it('makes way for a rollback, which no freeze delays', async () => {
    const { target, good } = harness.newServingTarget();
    await target.release('b', { freezes: FREEZES });
    target.world.frozen = frozen('wait', 60_000);
    const releaseId = await waitingFor('freeze', target, 'c', { freezes: FREEZES });
    await target.rollback({ who: 'bo', to: good });
    expect((await target.result(releaseId)).outcome).toBe('aborted');
    expect((await target.idle()).state.activeRevisionId).toBe(good);
  });
});
