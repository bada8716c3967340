import { expect, test } from 'vitest';

import { reportProgress } from '../../../src/activities/heartbeat.ts';
import { targetRecordName } from '../../../src/artifact/artifactStore.ts';
import { promotionWorkflowId } from '../../../src/domain/promotion/promotion.ts';
import { EMPTY_HOOK } from '../../../src/domain/hooks/hookState.ts';
import { takeDelivery } from '../../../src/domain/hooks/takeDelivery.ts';
import { holdUpdate, unholdUpdate } from '../../../src/messages/target.ts';
import { unansweredAndLost, unansweredButTaken } from '../faults.ts';
import { promotionRequest } from '../promotion/promotionsUnderTest.ts';
import { describeHooks } from './describeHooks.ts';
import { heldIn } from '../moments.ts';

const HOUR_MS = 3_600_000;
const ALWAYS_ASKS = 'approvalBetween: { from: "00:00", until: "00:00", within: 1h }';
const ROLLBACK = '{ name: worse, do: rollback, targets: [production]';
const ABORT = '{ name: stop, do: abort, targets: [production]';

describeHooks('an order of a hook', ({ harness, hooks, released }) => {
  test('is approved once by an answer that arrives again in a new run', async () => {
    const [target] = await harness.newReleasedTarget('x', 'b');
    const rules = [
      `      - { name: asked, match: { labels.alertname: asked }, ${ALWAYS_ASKS}, do: hold, targets: [production] }`,
      `      - { name: many, match: { labels.alertname: many }, do: hold, targets: [production], atLeast: { count: 99, within: 1h } }`,
    ].join('\n');
    const hook = hooks.make({ target, rules });
    await hook.start(20);
    const { events } = await hook.send([{ name: 'asked' }]);
    const id = events[0]!.id;
    await hook.decided(id, ({ state }) => state === 'needs_approval');
    expect(await hook.answer(id, true, 'an-answer')).toBe(true);
    await hook.decided(id, ({ state }) => state === 'carried_out');
    const runs = (await hook.histories()).length;
    for (let sent = 0; (await hook.histories()).length === runs; sent++)
      await hook.send([{ name: 'many', fingerprint: `fp-${sent}` }]);
    expect(await hook.answer(id, true, 'an-answer')).toBe(true);
    await expect(hook.answer(id, true, 'another-answer')).rejects.toThrow();
  });

  test('starts a terminated target again, which rolls back', async () => {
    const { target, hook } = await released(`${ROLLBACK} }`);
    await target.terminate();
    const { events } = await hook.send([{}]);
    expect(await hook.decided(events[0]!.id)).toMatchObject({ state: 'carried_out' });
    const { state } = await target.idle();
    expect(state.history.at(-1)).toMatchObject({ kind: 'rollback', outcome: 'rolled_back' });
  });

  test('starts a target again of which Temporal has no run any longer, with its kept state', async () => {
    const { target, hook } = await released(`${ROLLBACK} }`);
    const { revisionId } = await target.release('c');
    const kept = () => JSON.stringify(target.world.kept.get(targetRecordName(target.workflowId)) ?? null);
    await expect.poll(kept, { timeout: 60_000 }).toContain(revisionId);
    await target.terminate();
    const workflowExecution = { workflowId: target.workflowId };
    const { workflowService } = target.handle.client;
    await workflowService.deleteWorkflowExecution({ namespace: 'default', workflowExecution });
    await expect.poll(() => target.handle.describe().catch(() => 'gone'), { timeout: 60_000 }).toBe('gone');
    const { events } = await hook.send([{}]);
    expect((await hook.decided(events[0]!.id)).note).toMatch(/^queued, /);
    const { state } = await target.idle();
    expect(state.history.at(-1)).toMatchObject({ kind: 'rollback', outcome: 'rolled_back' });
  });

  test('leaves no old revision because the next release has begun and does not serve yet', async () => {
    const { target, hook } = await released(`${ROLLBACK}, ifYoungerThan: 1ms }`);
    const { activeRevisionId } = (await target.view()).state;
    const { releaseId, gate } = await heldIn('uploadArtifact', target, 'c');
    const { events } = await hook.send([{}]);
    const decision = await hook.decided(events[0]!.id);
    expect(decision).toMatchObject({ state: 'not_met' });
    expect(decision.note).toMatch(/^release-2 was released .* ago: longer than 1ms$/);
    gate.open();
    expect((await target.result(releaseId)).outcome).toBe('released');
    const { state } = await target.idle();
    expect(
      state.known.find(({ revisionId }) => revisionId === activeRevisionId)?.quarantined,
    ).toBeUndefined();
  });

  test('is another one than that of another hook with an equal event and an equal rule', async () => {
    const { target, good, hook } = await released(`${ROLLBACK} }`);
    const alert = { startsAt: new Date().toISOString() };
    const first = await hook.send([alert]);
    await hook.decided(first.events[0]!.id);
    await target.idle();
    await target.handle.executeUpdate(unholdUpdate, { args: [{ who: 'bo' }] });
    await target.release('c');
    const other = hooks.make({ target, rules: `      - ${ROLLBACK} }`, name: 'others' });
    const { events } = await other.send([alert]);
    expect(events[0]).toMatchObject({ id: first.events[0]!.id, disposition: 'taken' });
    expect(await other.decided(events[0]!.id)).toMatchObject({ state: 'carried_out' });
    await target.idle();
    expect(target.world.active).toBe(good);
  });

  test('leaves the revision of a release that serves, and soaks', async () => {
    const { target, hook } = await released(`${ROLLBACK}, ifYoungerThan: 1ms }`);
    const { activeRevisionId } = (await target.view()).state;
    const { releaseId } = await target.submit('c', { soakMs: HOUR_MS });
    await target.progressOnce(releaseId, ({ steps }) => steps.at(-1)?.step === 'soak');
    const { events } = await hook.send([{}]);
    expect(await hook.decided(events[0]!.id)).toMatchObject({ state: 'carried_out' });
    expect(await target.result(releaseId)).toMatchObject({
      outcome: 'rolled_back',
      servingRevisionId: activeRevisionId,
    });
  });

  test('leaves the revision of a release that soaks if the event names its commit, and not one from before', async () => {
    const { target, hook } = await released(`${ROLLBACK}, ifRevision: labels.commit }`);
    const { releaseId } = await target.submit('c', { commit: 'deadbeef', soakMs: HOUR_MS });
    await target.progressOnce(releaseId, ({ steps }) => steps.at(-1)?.step === 'soak');
    const before = await hook.send([{ fingerprint: 'a', labels: { commit: 'c0ffee1' } }]);
    expect(await hook.decided(before.events[0]!.id)).toMatchObject({ state: 'not_met' });
    const own = await hook.send([{ fingerprint: 'b', labels: { commit: 'deadbeef' } }]);
    expect(await hook.decided(own.events[0]!.id)).toMatchObject({ state: 'carried_out' });
    expect((await target.result(releaseId)).outcome).toBe('rolled_back');
  });

  test('is not sent if it was approved after another revision began to serve', async () => {
    const { target, hook } = await released(`${ROLLBACK}, ${ALWAYS_ASKS} }`);
    const { events } = await hook.send([{}]);
    const id = events[0]!.id;
    await hook.decided(id, ({ state }) => state === 'needs_approval');
    const next = await target.release('c');
    await target.idle();
    await hook.answer(id, true);
    const { note } = await hook.decided(id, ({ state }) => state === 'not_met');
    expect(note).toMatch(/^approved by bo .*; ignored, revision .* does not serve any more;/u);
    const { state } = await target.idle();
    expect({ serves: state.activeRevisionId, hold: state.hold }).toEqual({
      serves: next.revisionId,
      hold: null,
    });
  });

  test('neither rolls back nor holds if a person has replaced by hand what it is about', async () => {
    const { target, hook } = await released(`${ROLLBACK}, ifYoungerThan: 1h }`);
    target.world.bringUp(target.world.patchElsewhere());
    const { events } = await hook.send([{}]);
    const decision = await hook.decided(events[0]!.id);
    expect(decision).toMatchObject({ state: 'not_met' });
    expect(decision.note).toContain('does not serve any more');
    expect((await target.idle()).state.hold).toBeNull();
    expect(target.world.redeployed).toEqual([]);
  });

  test('rolls back nothing if the release that it was about has been undone before the approval', async () => {
    const { target, hook } = await released(`${ROLLBACK}, ${ALWAYS_ASKS} }`);
    const { activeRevisionId } = (await target.view()).state;
    const { releaseId } = await target.submit('c', { soakMs: HOUR_MS });
    await target.progressOnce(releaseId, ({ steps }) => steps.at(-1)?.step === 'soak');
    const { events } = await hook.send([{}]);
    const id = events[0]!.id;
    await hook.decided(id, ({ state }) => state === 'needs_approval');
    await target.say(releaseId, 'abort');
    await target.idle();
    await hook.answer(id, true);
    expect(await hook.decided(id, ({ state }) => state !== 'needs_approval')).toMatchObject({
      state: 'not_met',
    });
    const { state } = await target.idle();
    expect(state.activeRevisionId).toBe(activeRevisionId);
    expect(state.history.at(-1)?.releaseId).toBe(releaseId);
  });

  test('aborts the release that ran when the event came, and no later one', async () => {
    const { target, hook } = await released(`${ABORT}, ${ALWAYS_ASKS} }`);
    const first = await target.submit('c', { soakMs: HOUR_MS });
    await target.progressOnce(first.releaseId, ({ steps }) => steps.at(-1)?.step === 'soak');
    const { events } = await hook.send([{}]);
    const id = events[0]!.id;
    await hook.decided(id, ({ state }) => state === 'needs_approval');
    await target.say(first.releaseId, 'abort');
    await target.idle();
    const next = await target.submit('d', { soakMs: HOUR_MS });
    await target.progressOnce(next.releaseId, ({ steps }) => steps.at(-1)?.step === 'soak');
    await hook.answer(id, true);
    const { note } = await hook.decided(id, ({ state }) => state === 'not_met');
    expect(note).toContain(`${first.releaseId} does not run any more`);
    expect((await target.view()).running?.releaseId).toBe(next.releaseId);
  });

  test('aborts one release, even if its answer is lost and the next release has begun', async () => {
    const { target, hook } = await released(`${ABORT} }`);
    const { releaseId, gate } = await heldIn('uploadArtifact', target, 'c');
    const next = await target.submit('d', { queue: 'all', soakMs: HOUR_MS });
    target.world.next('carryOutOrder', async (perform) => {
      await perform();
      gate.open();
      await target.progressOnce(next.releaseId, ({ steps }) => steps.at(-1)?.step === 'soak');
      return unansweredButTaken(() => Promise.resolve(), target.world);
    });
    const { events } = await hook.send([{}]);
    const { state, note } = await hook.decided(events[0]!.id);
    expect(state).toBe('carried_out');
    expect(note).toContain(releaseId);
    expect((await target.ended(releaseId)).outcome).toBe('aborted');
    expect((await target.view()).running?.releaseId).toBe(next.releaseId);
  });

  test('starts one promotion, even if its answer is lost and the promotion has ended', async () => {
    const [{ target: canary }, { target }] = [harness.newServingTarget(), harness.newServingTarget()];
    const promotion = promotionRequest(canary, target);
    const rules = '      - { name: next, do: promotion, promotion: to-production }';
    const hook = hooks.make({ target, rules, requests: { promotion } });
    const handle = target.workflow(promotionWorkflowId(promotion));
    let started: string | undefined;
    target.world.next('carryOutOrder', async (perform) => {
      await perform();
      started = (await handle.describe()).runId;
      await handle.result();
      return unansweredButTaken(() => Promise.resolve(), target.world);
    });
    const { events } = await hook.send([{}]);
    expect(await hook.decided(events[0]!.id)).toMatchObject({ state: 'carried_out' });
    expect((await handle.describe()).runId).toBe(started);
  });

  test('is not met if the worker died before it asked, and the release has ended by itself', async () => {
    const { target, hook } = await released(`${ABORT} }`);
    const { releaseId, gate } = await heldIn('uploadArtifact', target, 'c');
    target.world.next('carryOutOrder', async () => {
      reportProgress('', { releaseId });
      gate.open();
      await target.ended(releaseId);
      return unansweredAndLost(() => Promise.resolve(), target.world);
    });
    const { events } = await hook.send([{}]);
    expect(await hook.decided(events[0]!.id)).toMatchObject({ state: 'not_met' });
    expect((await target.ended(releaseId)).outcome).toBe('released');
  });

  test('aborts no release that began after its rule had acted, if the worker died before it asked', async () => {
    const { target, hook } = await released(`${ABORT} }`);
    const { releaseId, gate } = await heldIn('uploadArtifact', target, 'c');
    const next = await target.submit('d', { queue: 'all', soakMs: HOUR_MS });
    target.world.next('carryOutOrder', async () => {
      gate.open();
      await target.progressOnce(next.releaseId, ({ steps }) => steps.at(-1)?.step === 'soak');
      return unansweredAndLost(() => Promise.resolve(), target.world);
    });
    const { events } = await hook.send([{}]);
    expect(await hook.decided(events[0]!.id)).toMatchObject({ state: 'not_met' });
    expect((await target.ended(releaseId)).outcome).toBe('released');
    expect((await target.view()).running?.releaseId).toBe(next.releaseId);
  });

  test.each([
    ['found no release to abort', ABORT, 'no release runs'],
    ['was refused by the target', '{ name: again, do: release, targets: [production]', 'is on hold'],
  ])('does not count as an action of its rule if it %s', async (_, rule, why) => {
    const [target] = await harness.newReleasedTarget('x', 'b');
    await target.handle.executeUpdate(holdUpdate, { args: [{}] });
    const hook = hooks.make({
      target,
      rules: `      - ${rule}, atMostOnePer: 1h }`,
      requests: { release: target.request('c', { soakMs: HOUR_MS }) },
    });
    const inVain = await hook.send([{ fingerprint: 'a' }]);
    const decision = await hook.decided(inVain.events[0]!.id);
    expect(decision.state).toBe('not_met');
    expect(decision.note).toContain(why);
    await target.handle.executeUpdate(unholdUpdate, { args: [{}] });
    if (rule === ABORT) await target.submit('c', { soakMs: HOUR_MS });
    const again = await hook.send([{ fingerprint: 'b' }]);
    expect(await hook.decided(again.events[0]!.id)).toMatchObject({ state: 'carried_out' });
    const third = await hook.send([{ fingerprint: 'c' }]);
    expect((await hook.decided(third.events[0]!.id)).note).toContain('at most once per');
  });

  test('is not sent for an event that has waited too long for its turn', async () => {
    const [target] = await harness.newReleasedTarget('x', 'b');
    const hook = hooks.make({ target, rules: `      - ${ROLLBACK} }` });
    const event = { id: 'late', title: 'late', status: 'firing' } as const;
    const matches = [{ rule: 'worse', guards: {}, order: 0 }];
    const orders = [{ target: 'production', workflowId: target.workflowId, do: 'abort' } as const];
    const longAgo = Date.now() - HOUR_MS;
    await hook.start(
      undefined,
      takeDelivery(EMPTY_HOOK, { events: [{ ...event, matches }], orders }, longAgo).state,
    );
    expect(await hook.decided('late')).toMatchObject({
      state: 'failed',
      note: 'its target could not be asked in time',
    });
    expect((await target.idle()).state.history.map(({ kind }) => kind)).not.toContain('rollback');
  });
});
