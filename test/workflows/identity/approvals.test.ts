import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { expect, it, vi } from 'vitest';

import { memoryStore } from '../../../src/artifact/memoryStore.ts';
import { keepProof } from '../../../src/cli/identity.ts';
import type { Statement } from '../../../src/domain/identity/statement.ts';
import type { InterventionKind } from '../../../src/domain/intervention/intervention.ts';
import type { InterventionMessage } from '../../../src/messages/release.ts';
import type { Proof } from '../../../src/identity/proof.ts';
import { peopleAtIssuer } from '../../identity/peopleAtIssuer.ts';
import { describeWorkflows } from '../describeWorkflows.ts';
import { heldIn } from '../moments.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';
import { keep } from './keep.ts';

const IDENTITY = { required: 1, withinMs: 3_600_000, identity: 'oidc' } as const;

describeWorkflows('approvals that require proof of identity', (harness) => {
  it('lets a release continue, and records the verified person', async () => {
    const { target } = harness.newServingTarget();
    const releaseId = await waiting(target, 'ada');
    const answer = await target.say(releaseId, 'approve', approval(target, releaseId, 'bo'));
    expect(answer).toMatchObject({ disposition: 'taken', note: 'approved by 1 of 1' });
    const result = await target.result(releaseId);
    expect(result).toMatchObject({
      outcome: 'released',
      requestedBy: { who: 'ada@example.com', proved: { issuer: 'https://issuer.test', subject: 'ada' } },
      interventions: [
        { kind: 'approve', by: { who: 'bo@example.com', proved: { subject: 'bo' } }, taken: true },
      ],
    });
    expect(result.interventions[0]).not.toHaveProperty('identity');
  });

  it('removes each proof, and no history has a token of the issuer, or a part of one', async () => {
    const people = await peopleAtIssuer('ada', 'ben');
    try {
      const { target } = harness.newServingTarget();
      target.world.verifier = people.verifier;
      // The secrets in the store, which must not be in a history.
      const secrets: string[] = [];
      const keepAs = async (who: string, statement: Statement) => {
        const store = memoryStore(target.world.kept);
        const name = await keepProof(people.environmentOf(who), store, statement);
        secrets.push(...secretsIn(await store.getRecord(name)));
        return name;
      };
      const { requestKey } = target.request('b');
      const { workflowId } = target;
      const asked = { action: 'release', workflowId, requestId: requestKey } as const;
      const { releaseId } = await target.submit('b', {
        approval: IDENTITY,
        identity: await keepAs('ada', asked),
      });
      await target.waitsFor(releaseId, 'approval');
      const approving = {
        action: 'approve',
        workflowId: `${workflowId}/${releaseId}`,
        requestId: 'one',
      } as const;
      const identity = await keepAs('ben', approving);
      expect(secrets).toHaveLength(16);
      await target.say(releaseId, 'approve', { requestId: 'one', who: 'claimed', identity });
      const result = await target.result(releaseId);
      expect(result).toMatchObject({
        outcome: 'released',
        requestedBy: { who: 'ada@example.com', proved: { subject: 'ada' } },
        interventions: [{ by: { who: 'ben@example.com', proved: { subject: 'ben' } } }],
      });
      expect(noProofs(target)).toBe(true);
      const histories = await Promise.all([
        target.handle.fetchHistory(),
        target.child(releaseId).fetchHistory(),
      ]);
      const texts = histories.map((history) => textIn(historyToJSON(history)));
      expect(texts[1]).toContain('ben@example.com');
      for (const text of [...texts, JSON.stringify([...target.world.kept])]) {
        for (const secret of secrets) expect(text).not.toContain(secret);
      }
    } finally {
      await people.close();
    }
  });

  it('rejects one without a proof, under any name; a signal is recorded and ignored', async () => {
    const { target } = harness.newServingTarget();
    const releaseId = await waiting(target, 'ada');
    await expect(target.say(releaseId, 'approve', { who: 'bo@example.com' })).rejects.toMatchObject({
      cause: {
        type: 'SLIPWAY_WRONG_MOMENT',
        message: expect.stringContaining('requires proof of identity') as string,
      },
    });
    await target.child(releaseId).signal('approve', { who: 'bo@example.com' });
    const { interventions, waiting: still } = await target.progressOnce(
      releaseId,
      (progress) => progress.interventions.length > 0,
    );
    expect(interventions).toMatchObject([{ kind: 'approve', taken: false }]);
    expect(still).toMatchObject({ for: 'approval' });
  });

  it('rejects the person who released, under another name, and accepts another person', async () => {
    const { target } = harness.newServingTarget();
    const releaseId = await waiting(target, 'ada');
    const own = { ...approval(target, releaseId, 'ada'), who: 'bo' };
    await expect(target.say(releaseId, 'approve', own)).rejects.toMatchObject({
      cause: { message: 'the person who asked for it cannot approve it' },
    });
    await target.say(releaseId, 'approve', approval(target, releaseId, 'bo'));
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'released' });
  });

  it('rejects a used proof, and one of another release', async () => {
    const { target } = harness.newServingTarget();
    const releaseId = await waiting(target, 'ada');
    const other = approval(target, 'release-999', 'bo');
    await expect(target.say(releaseId, 'approve', other)).rejects.toMatchObject({
      cause: {
        type: 'SLIPWAY_IDENTITY_UNPROVED',
        message: expect.stringContaining('something else') as string,
      },
    });
    await expect(target.say(releaseId, 'approve', other)).rejects.toMatchObject({
      cause: { message: expect.stringContaining('used already') as string },
    });
  });

  it('accepts a signal with a proof', async () => {
    const { target } = harness.newServingTarget();
    const releaseId = await waiting(target, 'ada');
    await target.child(releaseId).signal('approve', approval(target, releaseId, 'bo'));
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'released' });
  });

  it('ends a release whose requester has no proof, before anything is changed', async () => {
    const { target, good } = harness.newServingTarget();
    const { releaseId } = await target.submit('b', { approval: IDENTITY });
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ outcome: 'aborted', servingRevisionId: good });
    expect(result.reason).toContain('ada did not prove their identity');
    expect(target.world.count('patchDeployment')).toBe(0);
  });

  it('makes way for a rollback immediately, while an issuer does not answer', async () => {
    const { target, good } = harness.newServingTarget();
    const releaseId = await waiting(target, 'ada');
    const gate = target.world.gate('proveIdentity');
    const approving = target.say(releaseId, 'approve', approval(target, releaseId, 'bo'));
    const refused = expect(approving).rejects.toMatchObject({
      cause: { message: expect.stringContaining('not waited for any more') as string },
    });
    await target.world.called('proveIdentity', 2);
    await target.rollback({ who: 'cy' });
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ servingRevisionId: good });
    expect(result.outcome).not.toBe('released');
    await refused;
    gate.open();
  });

  it('ends when it is canceled, while an issuer does not answer', async () => {
    const { target, good } = harness.newServingTarget();
    const releaseId = await waiting(target, 'ada');
    const gate = target.world.gate('proveIdentity');
    const approving = target.say(releaseId, 'approve', approval(target, releaseId, 'bo'));
    const refused = expect(approving).rejects.toMatchObject({ cause: expect.anything() as unknown });
    await target.world.called('proveIdentity', 2);
    await target.child(releaseId).cancel();
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'aborted', servingRevisionId: good });
    await refused;
    gate.open();
  });
});

describeWorkflows('other messages with proof of identity', (harness) => {
  it('a rejection ends the release under the verified name, not the claimed one', async () => {
    const { target } = harness.newServingTarget();
    const releaseId = await waiting(target, 'ada');
    const answer = await target.say(releaseId, 'reject', said(target, releaseId, 'reject', 'bo'));
    expect(answer).toMatchObject({ disposition: 'taken' });
    expect(await target.result(releaseId)).toMatchObject({
      outcome: 'aborted',
      reason: expect.stringContaining('rejected by bo@example.com') as string,
      interventions: [
        { kind: 'reject', by: { who: 'bo@example.com', proved: { subject: 'bo' } }, taken: true },
      ],
    });
    expect(noProofs(target)).toBe(true);
  });

  it('a rejection with an invalid proof is accepted, and the record has the claimed name', async () => {
    const { target } = harness.newServingTarget();
    const releaseId = await waiting(target, 'ada');
    await target.say(releaseId, 'reject', { ...said(target, releaseId, 'pause', 'bo') });
    const { reason, interventions } = await target.result(releaseId);
    expect(reason).toContain('rejected by claimed');
    expect(interventions).toMatchObject([{ kind: 'reject', by: { who: 'claimed' } }]);
    expect(interventions[0]!.by).not.toHaveProperty('proved');
  });

  it('a rollback does not wait for the proof of a rejection', async () => {
    const { target, good } = harness.newServingTarget();
    const releaseId = await waiting(target, 'ada');
    const gate = target.world.gate('proveIdentity');
    await target.say(releaseId, 'reject', said(target, releaseId, 'reject', 'bo'));
    await target.world.called('proveIdentity', 2);
    await target.rollback({ who: 'cy' });
    const { preemptedBy, servingRevisionId } = await target.result(releaseId);
    expect([preemptedBy?.requestedBy.who, servingRevisionId]).toEqual(['cy', good]);
    gate.open();
  });

  it('a pause applies immediately, and the record gets the verified person later', async () => {
    const { target } = harness.newServingTarget();
    const releaseId = await waiting(target, 'ada');
    const gate = target.world.gate('proveIdentity');
    await target.say(releaseId, 'pause', said(target, releaseId, 'pause', 'bo'));
    const before = await target.progressOnce(releaseId, ({ interventions }) => interventions.length > 0);
    expect(before.interventions).toMatchObject([{ kind: 'pause', taken: true, by: { who: 'claimed' } }]);
    gate.open();
    const after = await target.progressOnce(
      releaseId,
      ({ interventions }) => interventions[0]?.by.proved !== undefined,
    );
    expect(after.interventions).toMatchObject([{ kind: 'pause', by: { who: 'bo@example.com' } }]);
    await target.say(releaseId, 'abort');
    await target.result(releaseId);
  });
});

describeWorkflows('rollbacks with proof of identity', (harness) => {
  it('records the verified person on an idle target', async () => {
    const [target] = await harness.newReleasedTarget('x', 'b');
    const gate = target.world.gate('redeployRevision');
    const { requestId } = await target.rollback(rollback(target, 'cy', 'first'));
    await target.world.called('proveIdentity');
    await vi.waitUntil(() => noProofs(target), 30_000);
    gate.open();
    expect(await target.result(requestId)).toMatchObject({
      outcome: 'rolled_back',
      requestedBy: { who: 'cy@example.com', proved: { subject: 'cy' } },
    });
  });

  it('continues while an issuer does not answer, or rejects, and records a claimed name', async () => {
    const [target] = await harness.newReleasedTarget('x', 'b');
    const gate = target.world.gate('proveIdentity');
    const { requestId } = await target.rollback(rollback(target, 'cy', 'first'));
    const result = await target.result(requestId);
    gate.open();
    expect(result).toMatchObject({ outcome: 'rolled_back', requestedBy: { who: 'claimed' } });
    expect(result.requestedBy).not.toHaveProperty('proved');
  });

  it('records the verified person in the release that makes way', async () => {
    const { target } = harness.newServingTarget();
    const { releaseId, gate: checking } = await heldIn('runCheck', target);
    const restoring = target.world.gate('redeployRevision');
    await target.rollback(rollback(target, 'cy', 'first'));
    await target.world.called('proveIdentity');
    await vi.waitUntil(() => noProofs(target), 30_000);
    restoring.open();
    checking.open();
    const { preemptedBy } = await target.result(releaseId);
    expect(preemptedBy).toMatchObject({ requestedBy: { who: 'cy@example.com', proved: { subject: 'cy' } } });
    expect(preemptedBy).not.toHaveProperty('identity');
  });
});

/** A rollback with a proof that the world's issuer confirms. */
function rollback(target: TargetUnderTest, who: string, requestId: string) {
  const statement = { action: 'rollback', workflowId: target.workflowId, requestId } as const;
  return { requestId, who: 'claimed', identity: keep(target, who, statement) };
}

function noProofs(target: TargetUnderTest): boolean {
  return ![...target.world.kept.keys()].some((name) => name.startsWith('_identities/'));
}

/** A release that a person requested with a proof, and that waits for approval. */
async function waiting(target: TargetUnderTest, who: string): Promise<string> {
  const { requestKey } = target.request('b');
  const identity = keep(target, who, {
    action: 'release',
    workflowId: target.workflowId,
    requestId: requestKey,
  });
  const { releaseId } = await target.submit('b', { approval: IDENTITY, identity });
  await target.waitsFor(releaseId, 'approval');
  return releaseId;
}

/** An intervention under a claimed name, with a proof that the world's issuer confirms. */
function said(target: TargetUnderTest, releaseId: string, action: InterventionKind, who: string) {
  const [workflowId, requestId] = [`${target.workflowId}/${releaseId}`, `${who} says ${action}`];
  return { requestId, who: 'claimed', identity: keep(target, who, { action, workflowId, requestId }) };
}

/** An approval with a proof that the world's issuer confirms. */
function approval(
  target: TargetUnderTest,
  releaseId: string,
  who: string,
  requestId = `${who}-approves`,
): InterventionMessage {
  const workflowId = `${target.workflowId}/${releaseId}`;
  return {
    requestId,
    who: 'claimed',
    identity: keep(target, who, { action: 'approve', workflowId, requestId }),
  };
}

/** The parts of a token and of a signed statement in a record of the artifact store. */
function secretsIn(record: unknown): readonly string[] {
  const { token, statement } = record as Partial<Proof>;
  return [token, statement].flatMap((jws) => (jws === undefined ? [] : [jws, ...jws.split('.')]));
}

function textIn(history: string): string {
  return history.replaceAll(/"data":\s*"([^"]*)"/gu, (_, data: string) =>
    Buffer.from(data, 'base64').toString(),
  );
}
