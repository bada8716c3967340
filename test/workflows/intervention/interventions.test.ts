import { expect, it } from 'vitest';

import { INTERVENTION_KINDS } from '../../../src/domain/intervention/intervention.ts';
import { describeWorkflows } from '../describeWorkflows.ts';
import { notTaken, refused, unansweredButTaken } from '../faults.ts';
import { heldIn, polling, waitingFor } from '../moments.ts';
import { identity, stepNames } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';

const BO = { who: 'bo', reason: 'a reason' };
const WAIT = { then: 'wait', waitMs: 60_000 } as const;

describeWorkflows('people’s messages to a running release', (harness) => {
  it('abort while polling: it stops, and the baseline serves again', async () => {
    const { target, good } = harness.newServingTarget();
    const releaseId = await polling(target);
    const answer = await target.say(releaseId, 'abort', { ...BO, reason: 'a sentence.' });
    expect(answer.disposition).toBe('taken');
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ outcome: 'aborted', code: null, servingRevisionId: good });
    expect(result.reason).toContain('aborted by bo: a sentence; ');
    expect(result.interventions).toMatchObject([{ kind: 'abort', by: { who: 'bo' }, taken: true }]);
    expect((await target.idle()).state.hold).toBeNull();
  });

  it('abort by a bare signal to the target does the same', async () => {
    const { target, good } = harness.newServingTarget();
    const releaseId = await polling(target);
    await target.signal('abort');
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ outcome: 'aborted', servingRevisionId: good });
    expect(result.reason).toContain('aborted by unknown');
  });

  it('abort by a signal to the target that is only just starting the release reaches it', async () => {
    const { target } = harness.newServingTarget();
    await target.startOnly();
    await target.idle();
    const { releaseId } = await target.submit('b');
    await target.signal('abort', BO);
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'aborted' });
    expect((await target.idle()).state.ignored).toEqual([]);
  });

  it('abort before the PATCH: nothing is sent', async () => {
    const { target, good } = harness.newServingTarget();
    const { releaseId, gate } = await heldIn('uploadArtifact', target);
    await target.say(releaseId, 'abort', BO);
    gate.open();
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ outcome: 'aborted', servingRevisionId: good });
    expect(target.world.count('patchDeployment')).toBe(0);
  });

  it('pause prevents the next step until resume', async () => {
    const { target } = harness.newServingTarget();
    const { releaseId, gate } = await heldIn('uploadArtifact', target);
    await target.say(releaseId, 'pause', BO);
    gate.open();
    const { waiting } = await target.progressOnce(releaseId, (progress) => progress.waiting !== null);
    expect(waiting).toMatchObject({ for: 'resume' });
    expect(target.world.count('patchDeployment')).toBe(0);
    await target.say(releaseId, 'resume', BO);
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'released' });
  });

  it('pause during the last check delays the release’s end until resume', async () => {
    const { target } = harness.newServingTarget();
    const { releaseId, gate } = await heldIn('runCheck', target);
    await target.say(releaseId, 'pause', BO);
    gate.open();
    const { waiting } = await target.progressOnce(
      releaseId,
      (progress) => progress.waiting !== null || progress.outcome !== null,
    );
    expect(waiting).toMatchObject({ for: 'resume' });
    await target.say(releaseId, 'resume', BO);
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'released' });
  });

  it('an unresumed pause ends at its deadline: the release is aborted, and nothing was changed', async () => {
    const { target, good } = harness.newServingTarget();
    const { releaseId, gate } = await heldIn('uploadArtifact', target, 'b', { pauseMs: 50 });
    await target.say(releaseId, 'pause', BO);
    gate.open();
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ outcome: 'aborted', servingRevisionId: good });
    expect(result.reason).toContain('paused for longer than');
    expect(target.world.count('patchDeployment')).toBe(0);
  });

  it('a paused release makes way for a rollback', async () => {
    const { target, good } = harness.newServingTarget();
    const { releaseId, gate } = await heldIn('awaitDeployed', target);
    await target.say(releaseId, 'pause', BO);
    gate.open();
    await target.progressOnce(releaseId, (progress) => progress.waiting !== null);
    await target.rollback(BO);
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
  });

  it('the required approvals let it continue, and nothing is changed before', async () => {
    const { target } = harness.newServingTarget();
    const approval = { required: 2, approvers: ['bo', 'cy', 'ada'], withinMs: 3_600_000 };
    const releaseId = await waitingFor('approval', target, 'b', { approval });
    expect(target.world.count('uploadArtifact')).toBe(0);
    await expect(target.say(releaseId, 'approve', { who: 'ada' })).rejects.toMatchObject({
      cause: { message: expect.stringContaining('cannot approve it') as string },
    });
    await expect(target.say(releaseId, 'approve', { who: 'eve' })).rejects.toMatchObject({
      cause: { message: expect.stringContaining('may not approve; these may: ') as string },
    });
    await target.say(releaseId, 'approve', { who: 'bo' });
    await expect(target.say(releaseId, 'approve', { who: 'bo' })).rejects.toMatchObject({
      cause: { message: 'bo has approved already' },
    });
    await target.say(releaseId, 'approve', { who: 'cy' });
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'released' });
  });

  it('the approval comes before the creation of a deployment of an image, because that deploys it', async () => {
    const target = harness.newTarget();
    const artifact = { kind: 'image', uri: 'registry.test/agent:1' } as const;
    const { releaseId } = await target.submit('a', {
      artifact,
      approval: { required: 1, withinMs: 3_600_000 },
    });
    await target.waitsFor(releaseId, 'approval');
    expect(target.world.count('createDeployment')).toBe(0);
    await target.say(releaseId, 'approve', BO);
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'released' });
    expect(target.world.count('createDeployment')).toBe(1);
  });

  it('reject ends it aborted, and nothing was changed', async () => {
    const { target, good } = harness.newServingTarget();
    const releaseId = await waitingFor('approval', target, 'b', {
      approval: { required: 1, withinMs: 3_600_000 },
    });
    await target.say(releaseId, 'reject', BO);
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ outcome: 'aborted', servingRevisionId: good });
    expect(result.reason).toBe('rejected by bo: a reason; this release changed nothing that served');
    expect(target.world.count('patchDeployment')).toBe(0);
  });

  it('approvals that arrive together with a rejection count only before it, and their answers say so', async () => {
    const { target } = harness.newServingTarget();
    const approval = { required: 21, withinMs: 3_600_000 };
    const releaseId = await waitingFor('approval', target, 'b', { approval });
    const people = Array.from({ length: 20 }, (_, number) => `person ${number}`);
    const [, ...answers] = await Promise.allSettled([
      target.say(releaseId, 'reject', BO),
      ...people.map((who) => target.say(releaseId, 'approve', { who })),
    ]);
    const { interventions } = await target.result(releaseId);
    const rejected = interventions.findIndex(({ kind }) => kind === 'reject');
    expect(interventions.slice(rejected + 1).filter(({ taken }) => taken)).toEqual([]);
    const counted = interventions.slice(0, rejected).map(({ by }) => by.who);
    expect(people.filter((_, index) => answers[index]?.status === 'fulfilled').sort()).toEqual(
      counted.sort(),
    );
  });

  it('reject reports the revision that another tool has restored since the release began to wait', async () => {
    const { target, good } = harness.newServingTarget();
    const before = (await target.release('a')).revisionId ?? '';
    const releaseId = await waitingFor('approval', target, 'b', {
      approval: { required: 1, withinMs: 3_600_000 },
    });
    target.world.bringUp(good);
    await target.say(releaseId, 'reject', BO);
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'aborted', servingRevisionId: good });
    const { known, drift } = (await target.idle()).state;
    expect(drift).toMatchObject({ expected: before, found: good });
    expect(known.find(({ revisionId }) => revisionId === before)).toMatchObject({ quarantined: true });
  });

  it('a missing approval ends it aborted at the deadline', async () => {
    const { target } = harness.newServingTarget();
    const result = await target.release('b', { approval: { required: 1, withinMs: 50 } });
    expect(result.outcome).toBe('aborted');
    expect(result.reason).toContain('approved by 0 of 1');
  });

  it('skip of a check that hangs: it is released, unverified', async () => {
    const { target } = harness.newServingTarget();
    const { releaseId, gate } = await heldIn('runCheck', target);
    await target.say(releaseId, 'skip', { ...BO, what: 'greets' });
    const result = await target.result(releaseId);
    gate.open();
    expect(result).toMatchObject({ outcome: 'released', servingVerified: false });
    expect(stepNames(result)).toContain('check skipped');
    expect(result.knownRevisions.at(-1)).toMatchObject({ verified: false });
  });

  it('skip of a check before it runs has the same result', async () => {
    const { target } = harness.newServingTarget();
    const releaseId = await polling(target);
    await target.say(releaseId, 'skip', { ...BO, what: 'greets' });
    target.world.slow.clear();
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ outcome: 'released', servingVerified: false });
    expect(target.world.count('runCheck')).toBe(0);
  });

  it('skip of the soak ends it, and the revision is verified', async () => {
    const { target } = harness.newServingTarget();
    const { releaseId } = await target.submit('b', { soakMs: 3_600_000 });
    await target.progressOnce(releaseId, ({ steps }) =>
      steps.some(({ step, status }) => step === 'check' && status === 'done'),
    );
    await target.say(releaseId, 'skip', { ...BO, what: 'soak' });
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ outcome: 'released', servingVerified: true });
    expect(stepNames(result)).toContain('soak skipped');
  });

  it('retry of an unanswered PATCH looks for its revision first: there is exactly one', async () => {
    const { target } = harness.newServingTarget();
    target.world.next('patchDeployment', unansweredButTaken);
    target.world.next('readDeployment', refused('SLIPWAY_UNAUTHORIZED', 401));
    const releaseId = await waitingFor('decision', target, 'b', { onError: WAIT });
    await target.say(releaseId, 'retry', BO);
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'released', extraRevisionIds: [] });
    expect(target.world.count('patchDeployment')).toBe(1);
  });

  it('without a decision in time, the earlier revision is restored', async () => {
    const { target, good } = harness.newServingTarget();
    target.world.next('runCheck', notTaken(), notTaken());
    const result = await target.release('b', { onError: { then: 'wait', waitMs: 50 } });
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
  });

  it('a failed check does not wait for a decision: it is rolled back immediately', async () => {
    const { target, good } = harness.newServingTarget();
    target.world.bad.add(identity('b'));
    const result = await target.release('b', { onError: WAIT });
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
  });

  it('a repeated message counts once', async () => {
    const { target } = harness.newServingTarget();
    const releaseId = await polling(target);
    const message = { ...BO, requestId: 'once' };
    expect(await target.say(releaseId, 'pause', message)).toMatchObject({ disposition: 'taken' });
    expect(await target.say(releaseId, 'pause', message)).toMatchObject({ disposition: 'repeated' });
    await target.say(releaseId, 'resume', BO);
    target.world.slow.clear();
    const { outcome, interventions } = await target.result(releaseId);
    expect(outcome).toBe('released');
    expect(interventions.map(({ kind }) => kind)).toEqual(['pause', 'resume']);
  });

  it('garbage by raw signal is recorded and changes nothing, on the release and on the target', async () => {
    const { target } = harness.newServingTarget();
    const releaseId = await polling(target);
    for (const kind of INTERVENTION_KINDS) {
      await target.child(releaseId).signal(kind, 7);
      await target.signal(kind, { who: 7 });
    }
    const expected = 2 * INTERVENTION_KINDS.length;
    const { interventions } = await target.progressOnce(
      releaseId,
      (progress) => progress.interventions.length === expected,
    );
    expect(interventions.every(({ taken }) => !taken)).toBe(true);
    target.world.slow.clear();
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'released' });
  });

  it('signals to the target reach the release in the order of their arrival', async () => {
    const { target } = harness.newServingTarget();
    const releaseId = await polling(target);
    const turns = Array.from({ length: 40 }, (_, turn) => turn);
    // Several arrive within one workflow task of the target.
    await Promise.all(
      turns.map((turn) => target.signal(turn % 2 === 0 ? 'pause' : 'resume', { who: `turn ${turn}` })),
    );
    await target.progressOnce(releaseId, ({ interventions }) => interventions.length === turns.length);
    expect(await signaled(target.child(releaseId))).toEqual(await signaled(target.handle));
    await target.signal('resume', BO);
    target.world.slow.clear();
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'released' });
  });

  it('withdraw ends a waiting release before it starts', async () => {
    const { target } = harness.newServingTarget();
    const running = await polling(target);
    const { releaseId } = await target.submit('c');
    await expect(
      target.handle.executeUpdate('withdraw', { args: [{ release: 'release-99' }] }),
    ).rejects.toThrow();
    expect(await target.handle.executeUpdate('withdraw', { args: [{ ...BO, release: releaseId }] })).toEqual([
      releaseId,
    ]);
    expect(await target.ended(releaseId)).toMatchObject({
      outcome: 'aborted',
      reason: 'withdrawn before it started, by bo: a reason',
    });
    target.world.slow.clear();
    expect(await target.result(running)).toMatchObject({ outcome: 'released' });
  });
});

async function signaled(workflow: TargetUnderTest['handle']) {
  const { events } = await workflow.fetchHistory();
  return (events ?? []).flatMap(({ workflowExecutionSignaledEventAttributes: signal }) =>
    signal == null ? [] : [Buffer.from(signal.input?.payloads?.[0]?.data ?? []).toString()],
  );
}
