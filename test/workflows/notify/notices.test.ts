import { expect, it } from 'vitest';

import type { ReceiverSpec } from '../../../src/domain/notify/notice.ts';
import type { NoticeResult } from '../../../src/messages/workflowTypes.ts';
import { describeWorkflows } from '../describeWorkflows.ts';
import { refused } from '../faults.ts';
import { heldIn, waitingFor } from '../moments.ts';
import { QUICK } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';

const OPS: ReceiverSpec = { kind: 'slack', name: 'ops', url: { from: 'env:SLACK_URL' } };
const AUDIT: ReceiverSpec = {
  kind: 'webhook',
  name: 'audit',
  url: { from: 'env:AUDIT_URL' },
  secret: { from: 'env:AUDIT_SECRET' },
};
const IMPATIENT = { ...QUICK, notify: { retry: { initialIntervalMs: 5, maximumAttempts: 2 } } };

/** The notices that were sent, by receiver, event and subject, once there are so many. */
async function told({ world }: TargetUnderTest, times: number): Promise<string[]> {
  await world.called('sendNotice', times);
  await world.until(() => world.noticed.length >= times);
  return world.noticed.map(({ receiver, notice }) =>
    `${receiver}: ${notice.event} ${notice.name ?? ''}`.trim(),
  );
}

describeWorkflows('notices', (harness) => {
  it('report to every receiver the start and the end of a release, with one id for all receivers', async () => {
    const target = harness.newTarget();
    const { revisionId } = await target.release('a', { notify: [OPS, AUDIT], commit: 'c0ffee' });
    expect((await told(target, 4)).sort()).toEqual([
      'audit: release_started release-1',
      'audit: released release-1',
      'ops: release_started release-1',
      'ops: released release-1',
    ]);
    const ends = target.world.noticed.filter(({ notice }) => notice.event === 'released');
    expect(ends[0]?.notice).toEqual(ends[1]?.notice);
    expect(ends[0]?.notice).toMatchObject({
      version: 1,
      target: 'production',
      targetId: target.workflowId,
      kind: 'release',
      outcome: 'released',
      commit: 'c0ffee',
      servingCommit: 'c0ffee',
      revisionId,
      servingRevisionId: revisionId,
      instructions: null,
      by: { who: 'ada' },
    });
  });

  it('cost the release nothing: one with a check stays under 90 events, and so does its target', async () => {
    const target = harness.newTarget();
    const { releaseId } = await target.release('a', { notify: [OPS, AUDIT] });
    await told(target, 4);
    await target.idle();
    const { events } = await target.child(releaseId).fetchHistory();
    expect(events?.length).toBeLessThan(90);
    expect(events?.some((event) => event.startChildWorkflowExecutionInitiatedEventAttributes != null)).toBe(
      false,
    );
    expect((await target.handle.fetchHistory()).events?.length).toBeLessThan(90);
  });

  it('are not started without receivers', async () => {
    const target = harness.newTarget();
    await target.release('a', { notify: [{ ...OPS, events: ['errored'] }] });
    const { state } = await target.idle();
    expect(state.history).toHaveLength(1);
    const children = (await target.histories()).map(({ workflowId }) => workflowId);
    expect(children).toEqual([target.workflowId, `${target.workflowId}/release-1`]);
  });

  it('report no end of a release that goes on while its target is reset', async () => {
    const { target } = harness.newServingTarget();
    const { releaseId, gate } = await heldIn('awaitDeployed', target, 'b', { notify: [OPS] });
    await target.reset('last');
    await target.viewOnce(
      ({ running, recovering }) => recovering !== true && running?.releaseId === releaseId,
    );
    gate.open();
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'released' });
    await target.world.until(() => target.world.noticed.some(({ notice }) => notice.event === 'released'));
    expect(new Set(target.world.noticed.map(({ notice }) => notice.event))).toEqual(
      new Set(['release_started', 'released']),
    );
  });

  it('never delay the end of a release, nor the next one, even if a receiver hangs', async () => {
    const target = harness.newTarget();
    const gates = [target.world.gate('sendNotice'), target.world.gate('sendNotice')];
    const first = await target.release('a', { notify: [OPS] });
    const second = await target.release('b');
    expect([first.outcome, second.outcome]).toEqual(['released', 'released']);
    expect(target.world.noticed).toEqual([]);
    for (const gate of gates) gate.open();
    await told(target, 2);
  });

  it('that cannot be sent are only a warning of the target', async () => {
    const target = harness.newTarget();
    const away = refused('SLIPWAY_NOT_FOUND', 404);
    target.world.next('sendNotice', away);
    const notify = [{ ...OPS, events: ['release_started'] as const }];
    const { outcome, reason } = await target.release('a', { notify, steps: IMPATIENT });
    expect({ outcome, reason }).toMatchObject({
      outcome: 'released',
      reason: expect.not.stringContaining('ops'),
    });
    const { state } = await target.viewOnce((view) => (view.state.undelivered ?? []).length > 0);
    expect(state.undelivered).toEqual([
      {
        at: expect.any(String),
        receiver: 'ops',
        event: 'release_started',
        name: 'release-1',
        reason: 'the world says SLIPWAY_NOT_FOUND',
      },
    ]);
    const notice = (await target.histories()).find(({ workflowId }) => workflowId.startsWith('notice:'));
    const result = (await target.workflow(notice?.workflowId ?? '').result()) as NoticeResult;
    expect(result).toMatchObject({ delivered: [], undelivered: state.undelivered, reported: true });
  });

  it('report waits for a person, holds, rollbacks, and releases that never start', async () => {
    const { target, good } = harness.newServingTarget();
    const notify = [OPS];
    const releaseId = await waitingFor('approval', target, 'b', {
      notify,
      approval: { required: 1, withinMs: 3_600_000 },
    });
    await target.submit('c', { notify });
    await target.submit('d', { notify });
    await target.say(releaseId, 'approve', { who: 'bo' });
    expect((await target.result('release-3')).outcome).toBe('released');
    const { requestId } = await target.rollback({ who: 'bo', to: good });
    await target.ended(requestId);
    await target.signal('unhold', { who: 'bo' });
    expect((await told(target, 10)).sort()).toEqual([
      'ops: hold_released',
      'ops: hold_set',
      'ops: release_started release-1',
      'ops: release_started release-3',
      'ops: release_waiting release-1',
      'ops: released release-1',
      'ops: released release-3',
      'ops: rollback_started rollback-4',
      'ops: rolled_back rollback-4',
      'ops: superseded release-2',
    ]);
  });

  it('are started before a target continues as new, and none is lost', async () => {
    const { target } = harness.newServingTarget({ continueAsNewAfterEvents: 60 });
    for (const artifact of ['b', 'c', 'd', 'e']) await target.release(artifact, { notify: [OPS] });
    await target.viewOnce(({ state }) => state.history.length === 4);
    expect((await told(target, 8)).filter((line) => line.includes('released '))).toHaveLength(4);
    expect(await target.runCount()).toBeGreaterThan(1);
  });

  it('have warnings by a signal, which is validated', async () => {
    const target = harness.newTarget();
    await target.release('a');
    await target.signal('undelivered', { receiver: 7 });
    const { state } = await target.viewOnce((view) => view.state.ignored.length > 0);
    expect(state.ignored[0]).toMatchObject({ message: 'undelivered' });
    expect(state.undelivered).toBeUndefined();
  });
});
