import { expect, test } from 'vitest';

import { exactText } from '../../../src/domain/scalars.ts';
import { promotionWorkflowId } from '../../../src/domain/promotion/promotion.ts';
import type { ReceiverSpec } from '../../../src/domain/notify/notice.ts';
import { promotionRequest } from '../promotion/promotionsUnderTest.ts';
import { seen } from '../seen.ts';
import { describeHooks } from './describeHooks.ts';

const HOUR_MS = 3_600_000;

describeHooks('a hook', ({ harness, hooks, released }) => {
  const ROLLBACK = `{ name: worse, match: { labels.alertname: AnswersWorse }, do: rollback, targets: [production]`;

  test('rolls back the revision of an alert, and holds the target like a manual rollback', async () => {
    const { target, good, hook } = await released(`${ROLLBACK}, ifYoungerThan: 1h }`);
    const { status, events } = await hook.send([{}]);
    expect(status).toBe(202);
    expect(events).toMatchObject([{ disposition: 'taken', decisions: [{ state: 'waiting' }] }]);
    expect(await hook.decided(events[0]!.id)).toMatchObject({ state: 'carried_out', do: 'rollback' });
    const { state } = await target.idle();
    expect(state.history.at(-1)).toMatchObject({ kind: 'rollback', outcome: 'rolled_back' });
    expect(state.history.at(-1)?.servingRevisionId).toBe(good);
    expect(state.hold?.by).toMatchObject({
      who: 'hook alerts',
      reason: 'AnswersWorse: the answers got worse',
    });
  });

  test('counts a redelivered alert once, through any listener, and answers with the first decision', async () => {
    const { target, hook } = await released(`${ROLLBACK} }`);
    const alert = { startsAt: new Date().toISOString() };
    const first = await hook.send([alert]);
    await hook.decided(first.events[0]!.id);
    const again = await hook.send([alert]);
    expect(again.status).toBe(200);
    expect(again.events).toMatchObject([{ disposition: 'duplicate', decisions: [{ state: 'carried_out' }] }]);
    expect((await hook.view()).rows).toMatchObject([{ deliveries: 2 }]);
    const { state } = await target.idle();
    expect(state.history.filter(({ kind }) => kind === 'rollback')).toHaveLength(1);
  });

  test('sets no hold if the rule says so', async () => {
    const { target, hook } = await released(`${ROLLBACK}, hold: false }`);
    const { events } = await hook.send([{}]);
    await hook.decided(events[0]!.id);
    const { state } = await target.idle();
    expect(state.history.at(-1)).toMatchObject({ kind: 'rollback', outcome: 'rolled_back' });
    expect(state.hold).toBeNull();
  });

  test('requests approval during the hours, notifies people, and acts after it', async () => {
    const { target } = harness.newServingTarget();
    const notify: ReceiverSpec[] = [
      { kind: 'slack', name: 'ops', url: { from: 'env:SLACK_URL' }, events: ['hook_waiting'] },
    ];
    await target.release('b', { notify });
    await target.idle();
    const rule = `${ROLLBACK}, approvalBetween: { from: "00:00", until: "00:00", within: 1h } }`;
    const hook = hooks.make({ target, rules: `      - ${rule}` });
    const { events } = await hook.send([{ fingerprint: 'a' }]);
    const id = events[0]!.id;
    const { until } = await hook.decided(id, ({ state }) => state === 'needs_approval');
    await target.world.called('sendNotice');
    await target.world.until(() => target.world.noticed.length === 1);
    expect(target.world.noticed[0]?.notice).toMatchObject({
      ...{ event: 'hook_waiting', kind: 'hook', name: id, target: 'production' },
      targetId: target.workflowId,
      reason: `AnswersWorse: the answers got worse: to roll back production, a person must approve from 00:00 until 00:00 (UTC), until ${exactText(until ?? '')}`,
      instructions: `slipway hooks approve ${id}\nslipway hooks reject ${id}`,
      by: { who: 'hook alerts' },
    });
    const beside = await hook.send([{ fingerprint: 'b' }]);
    expect(await hook.decided(beside.events[0]!.id)).toMatchObject({
      note: 'an earlier event waits for approval',
    });
    await hook.answer(id, true);
    const { note } = await hook.decided(id, ({ state }) => state === 'carried_out');
    expect(note).toMatch(/^approved by bo \(seen on the dashboard\); queued, /u);
    const { state } = await target.idle();
    expect(state.history.at(-1)?.requestedBy.from).toBe(`the rule "worse", event ${id}, approved by bo`);
    expect(target.world.noticed).toHaveLength(1);
    await expect(hook.answer(id, true)).rejects.toThrow();
  });

  test('does nothing if a person rejects, or none approves in time', async () => {
    const asks = (within: string): string =>
      `${ROLLBACK}, approvalBetween: { from: "00:00", until: "00:00", within: ${within} } }`;
    const isRejected = ({ state }: { readonly state: string }): boolean => state === 'rejected';
    const late = await released(asks('1s'));
    const unanswered = await late.hook.send([{}]);
    expect(await late.hook.decided(unanswered.events[0]!.id, isRejected)).toMatchObject({
      note: 'no person approved in time',
    });
    const { target, hook } = await released(asks('1h'));
    const { events } = await hook.send([{}]);
    const id = events[0]!.id;
    await hook.decided(id);
    await hook.answer(id, false);
    expect(await hook.decided(id, isRejected)).toMatchObject({
      note: 'rejected by bo (seen on the dashboard)',
    });
    for (const { state } of [await target.idle(), await late.target.idle()])
      expect(state.history.map(({ kind }) => kind)).not.toContain('rollback');
  });

  test('releases, with the event as the requester', async () => {
    const { target } = harness.newServingTarget();
    const rules = `      - { name: again, do: release, targets: [production] }`;
    const hook = hooks.make({ target, rules, requests: { release: target.request('c') } });
    const { events } = await hook.send([{}]);
    expect(await hook.decided(events[0]!.id)).toMatchObject({ state: 'carried_out' });
    expect(await target.ended('release-1')).toMatchObject({
      outcome: 'released',
      requestedBy: { who: 'hook alerts' },
    });
  });

  test('aborts the running release, or reports that none runs', async () => {
    const { target } = harness.newServingTarget();
    const hook = hooks.make({ target, rules: `      - { name: stop, do: abort, targets: [production] }` });
    const { releaseId } = await target.submit('b', { soakMs: HOUR_MS });
    await target.progressOnce(releaseId, ({ steps }) => steps.at(-1)?.step === 'soak');
    const { events } = await hook.send([{ fingerprint: 'a' }]);
    expect(await hook.decided(events[0]!.id)).toMatchObject({ state: 'carried_out' });
    expect(await target.ended(releaseId)).toMatchObject({ outcome: 'aborted' });
    await target.idle();
    const idle = await hook.send([{ fingerprint: 'b' }]);
    expect(await hook.decided(idle.events[0]!.id)).toMatchObject({ note: 'no release runs' });
  });

  test('keeps unmatched events, and resolved alerts', async () => {
    const { target } = harness.newServingTarget();
    const hook = hooks.make({ target, rules: `      - ${ROLLBACK} }` });
    const { status, events } = await hook.send([
      { name: 'Other', fingerprint: 'a' },
      { fingerprint: 'b', status: 'resolved' },
    ]);
    expect(status).toBe(200);
    expect(events).toMatchObject([{ disposition: 'unmatched' }, { disposition: 'unmatched' }]);
    expect((await hook.view()).rows).toHaveLength(2);
  });

  test('starts a promotion; while it runs, another event does nothing and does not count', async () => {
    const [canary] = await harness.newReleasedTarget('b');
    const { target } = harness.newServingTarget();
    const promotion = promotionRequest(canary, target, { soakMs: HOUR_MS });
    const rules = `      - { name: next, do: promotion, promotion: to-production }`;
    const hook = hooks.make({ target, rules, requests: { promotion } });
    const send = async (fingerprint: string) => {
      const { events } = await hook.send([{ fingerprint }]);
      return hook.decided(events[0]!.id);
    };
    expect(await send('a')).toMatchObject({
      state: 'carried_out',
      note: 'the promotion canary-to-production has begun',
    });
    const tallies = async () => (await hook.view()).tallies;
    const counts = await tallies();
    expect(await send('b')).toMatchObject({
      state: 'not_met',
      note: 'the promotion canary-to-production is already running',
    });
    expect(await tallies()).toEqual(counts);
    await target.workflow(promotionWorkflowId(promotion)).terminate();
  });

  test('is not ended by a cancellation', async () => {
    const [target] = await harness.newReleasedTarget('x', 'b');
    const hook = hooks.make({ target, rules: `      - { name: stop, do: hold, targets: [production] }` });
    const first = await hook.send([{ fingerprint: 'a', startsAt: '2026-01-01T00:00:00Z' }]);
    await hook.decided(first.events[0]!.id);
    await hook.handle.cancel();
    const again = await hook.send([{ fingerprint: 'a', startsAt: '2026-01-01T00:00:00Z' }]);
    expect(again.events).toMatchObject([{ disposition: 'duplicate' }]);
  });

  test('is found by the targets that its rules control, and by no others', async () => {
    const { target } = harness.newServingTarget();
    const { target: other } = harness.newServingTarget();
    const rules = `      - { name: many, match: { labels.alertname: AnswersWorse }, do: hold, targets: [production] }`;
    const hook = hooks.make({ target, rules });
    const { events } = await hook.send([{ fingerprint: 'a' }, { name: 'Other', fingerprint: 'b' }]);
    expect(await hook.foundBy(target)).toMatchObject({
      name: 'alerts',
      rows: [{ id: events[0]!.id, decisions: [{ targetId: target.workflowId }] }],
    });
    expect(await hook.seenBy(other)).toBeUndefined();
  });

  test('keeps its state in a new run', async () => {
    const { target } = harness.newServingTarget();
    const rules = `      - { name: many, do: hold, targets: [production], atLeast: { count: 30, within: 1h } }`;
    const hook = hooks.make({ target, rules });
    await hook.start(20);
    const startsAt = '2026-01-01T00:00:00Z';
    await hook.send([{ fingerprint: 'first', startsAt }]);
    for (const run of [1, 2]) {
      for (let number = 0; number < 10; number++) {
        const sent = [{ fingerprint: `fp-${run}-${number}`, startsAt }];
        // A run that ends meanwhile takes none: senders send it again.
        while ((await hook.send(sent)).status === 503);
      }
      // While events keep coming, a run may last longer.
      await seen(hook.handle, async () => (await hook.histories()).length > run || undefined);
    }
    const { events } = await hook.send([{ fingerprint: 'first', startsAt }]);
    expect(events).toMatchObject([
      { disposition: 'duplicate', decisions: [{ note: 'event 1 of 30 within 1h00m' }] },
    ]);
    expect(await hook.foundBy(target)).toMatchObject({ counts: { many: { counted: 21 } } });
  });

  test('answers each delivery of a flood, keeps what it took once, and looks at the target seldom', async () => {
    const { target } = harness.newServingTarget();
    await target.release('b');
    const hook = hooks.make({ target, rules: `      - ${ROLLBACK}, ifYoungerThan: 1h }` });
    const listeners = [hook.listener(), hook.listener()];
    const startsAt = new Date(Date.now() - HOUR_MS).toISOString();
    const sent = Array.from({ length: 1_500 }, (_, number) =>
      hook.send([{ fingerprint: `fp-${number}`, startsAt }], listeners[number % 2]),
    );
    const answers = await Promise.all(sent);
    const took = answers.flatMap(({ status, events }) => (status === 202 ? events : []));
    expect(answers.filter(({ status }) => status !== 202 && status !== 503)).toEqual([]);
    expect(took.length).toBeGreaterThan(500);
    const { rows, past } = await seen(hook.handle, async () => {
      const view = await hook.view();
      return view.rows.some(({ decisions }) => decisions[0]?.state === 'waiting') ? undefined : view;
    });
    expect(rows.length).toBeLessThan(400);
    const kept = [...past, ...rows.map(({ id, decisions }) => `${id} ${decisions[0]?.state ?? ''}`)];
    expect(kept.sort()).toEqual(took.map(({ id }) => `${id} not_met`).sort());
    const events = (await hook.histories()).flatMap(({ history }) => history.events ?? []);
    const looks = events.filter(
      ({ activityTaskScheduledEventAttributes: asked }) => asked?.activityType?.name === 'lookForHook',
    );
    expect(looks.length).toBeLessThan(took.length / 10);
  });
});
