import { INTERVENTION_KINDS } from '../../../src/domain/intervention/intervention.ts';
import { notTaken } from '../faults.ts';
import { heldIn } from '../moments.ts';
import { identity } from '../requests.ts';
import { BO, type Life, polls } from './life.ts';

/** Lives that together send every possible message, by update and by signal. */
export const MESSAGES: Readonly<Record<string, Life>> = {
  'rollbacks-and-hold': async (harness) => {
    const { target, good } = harness.newServingTarget();
    target.world.slow.add(identity('b'));
    const { releaseId } = await target.submit('b');
    await target.world.called('awaitDeployed');
    await target.submit('c');
    const stop = await target.rollback({ reason: 'errors' });
    await target.ended(stop.requestId);
    await target.child(releaseId).result();
    await target.release('d', { overrideHold: true });
    const back = await target.rollback({ to: good });
    await target.ended(back.requestId);
    await target.signal('rollback', 7);
    await target.signal('unhold');
    await target.viewOnce(({ state }) => state.hold === null && state.ignored.length > 0);
    return target;
  },
  interventions: async (harness) => {
    const { target } = harness.newServingTarget();
    const releaseId = await polls(target, 'b');
    await target.say(releaseId, 'pause', BO);
    await target.signal('resume', { ...BO, requestId: 'resume' });
    await target.progressOnce(releaseId, ({ interventions }) => interventions.length === 2);
    await target.say(releaseId, 'skip', { ...BO, what: 'greets' });
    target.world.slow.clear();
    await target.progressOnce(releaseId, ({ steps }) => steps.some(({ status }) => status === 'skipped'));
    await target.say(releaseId, 'skip', { ...BO, what: 'soak' });
    await target.result(releaseId);
    const aborted = await polls(target, 'c');
    await target.say(aborted, 'abort', BO);
    await target.result(aborted);
    return target;
  },
  approvals: async (harness) => {
    const { target } = harness.newServingTarget();
    const approval = { required: 1, withinMs: 60_000 };
    for (const kind of ['approve', 'reject'] as const) {
      const { releaseId } = await target.submit(kind, { approval });
      await target.waitsFor(releaseId, 'approval');
      await target.say(releaseId, kind, BO);
      await target.result(releaseId);
    }
    await target.release('late', { approval: { ...approval, withinMs: 10 } });
    return target;
  },
  'quarantine-and-withdrawal': async (harness) => {
    const { target } = harness.newServingTarget();
    target.world.bad.add(identity('b'));
    await target.release('b');
    await target.release('b');
    await target.idle();
    await target.submit('b');
    await target.handle.executeUpdate('unquarantine', { args: [{ ...BO, artifact: identity('b') }] });
    await target.signal('quarantine', { ...BO, artifact: identity('c') });
    const running = await polls(target, 'd');
    const { releaseId } = await target.submit('e');
    await target.handle.executeUpdate('withdraw', { args: [{ ...BO, release: releaseId }] });
    await target.say(running, 'abort', BO);
    await target.result(running);
    await target.signal('withdraw', { ...BO, submission: 'late' });
    await target.submit('f', {}, 'late');
    target.world.slow.add(identity('g'));
    const stopped = await target.submit('g', {}, 'one');
    await target.handle.executeUpdate('withdraw', { args: [{ ...BO, submission: 'one' }] });
    await target.result(stopped.releaseId);
    return target;
  },
  'quarantine-during-a-release': async (harness) => {
    const [target] = await harness.newReleasedTarget('x', 'b');
    target.world.bad.add(identity('c'));
    const { releaseId, gate } = await heldIn('runCheck', target, 'c');
    await target.handle.executeUpdate('quarantine', { args: [{ ...BO, artifact: identity('b') }] });
    gate.open();
    await target.result(releaseId);
    return target;
  },
  renewed: async (harness) => {
    const { target } = harness.newServingTarget();
    await target.release('b');
    await target.signal('renew');
    while ((await target.runCount()) < 2) await target.handle.executeUpdate('unhold', { args: [BO] });
    await target.release('c');
    return target;
  },
  'said-by-update': async (harness) => {
    const { target } = harness.newServingTarget();
    await target.release('b');
    const artifact = identity('b');
    for (const said of ['hold', 'unhold']) await target.handle.executeUpdate(said, { args: [BO] });
    for (const said of ['quarantine', 'unquarantine'])
      await target.handle.executeUpdate(said, { args: [{ ...BO, artifact }] });
    const running = await polls(target, 'c');
    for (const said of ['pause', 'resume', 'abort'] as const) await target.say(running, said, BO);
    await target.result(running);
    return target;
  },
  'said-by-signal': async (harness) => {
    const { target } = harness.newServingTarget();
    const approval = { required: 1, withinMs: 60_000 };
    for (const said of ['approve', 'reject'] as const) {
      const { releaseId } = await target.submit(said, { approval });
      await target.waitsFor(releaseId, 'approval');
      await target.signal(said, BO);
      await target.result(releaseId);
    }
    target.world.next('runCheck', notTaken(), notTaken());
    const undecided = await target.submit('c', { onError: { then: 'wait', waitMs: 60_000 } });
    await target.waitsFor(undecided.releaseId, 'decision');
    await target.signal('retry', BO);
    await target.result(undecided.releaseId);
    const running = await polls(target, 'd');
    for (const said of INTERVENTION_KINDS) await target.signal(said, 7);
    for (const said of ['pause', 'resume', 'skip'] as const)
      await target.signal(said, { ...BO, what: 'greets' });
    const heard = INTERVENTION_KINDS.length + 3;
    await target.progressOnce(running, ({ interventions }) => interventions.length === heard);
    await target.submit('e', { queue: 'all' });
    await target.submit('f', { queue: 'all' });
    await target.signal('quarantine', { ...BO, artifact: identity('e') });
    await target.viewOnce(({ state }) => state.queue.length === 1);
    await target.signal('withdraw', BO);
    await target.viewOnce(({ state }) => state.queue.length === 0);
    await target.signal('abort', BO);
    await target.result(running);
    await target.signal('unquarantine', { ...BO, artifact: identity('e') });
    await target.signal('hold', BO);
    await target.viewOnce(({ state }) => state.hold !== null);
    await target.signal('unhold', BO);
    await target.viewOnce(({ state }) => state.hold === null);
    return target;
  },
};
