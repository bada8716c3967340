import { landsLate, notTaken, refused, unansweredAndLost, unansweredButTaken } from '../faults.ts';
import { identity, QUICK } from '../requests.ts';
import { BO, type Life, polls } from './life.ts';

/** Lives that together end in every possible way. */
export const ENDINGS: Readonly<Record<string, Life>> = {
  'first-release-then-failed-check': async (harness) => {
    const target = harness.newTarget();
    await target.release('a', { commit: 'c0ffee', soakMs: 20 });
    target.world.bad.add(identity('b'));
    await target.release('b');
    return target;
  },
  'slow-revision': async (harness) => {
    const target = harness.newTarget();
    target.world.leavesToPoller = true;
    target.world.slow.add(identity('a'));
    await target.submit('a');
    await target.progressOnce('release-1', ({ found }) => found !== undefined);
    target.world.slow.delete(identity('a'));
    await target.result('release-1');
    return {
      histories: async () => [...(await target.histories()), ...(await target.pollerHistories())],
    };
  },
  'deployment-made-elsewhere': async (harness) => {
    const target = harness.newTarget();
    target.world.madeElsewhere('agent');
    target.world.broken.set(identity('a'), 'BUILD_FAILED');
    await target.release('a');
    return target;
  },
  'unknown-answers': async (harness) => {
    const { target } = harness.newServingTarget();
    target.world.next('patchDeployment', unansweredButTaken);
    await target.release('b');
    target.world.next(
      'patchDeployment',
      landsLate((world) => world.called('patchDeployment', 3)),
      notTaken(),
    );
    await target.release('c');
    return target;
  },
  'late-revision-and-new-run': async (harness) => {
    const { target } = harness.newServingTarget({ continueAsNewAfterEvents: 60 });
    target.world.slow.add(identity('b'));
    const steps = { ...QUICK, deployed: { ...QUICK.deployed, scheduleToCloseMs: 300 } };
    const { revisionId } = await target.release('b', { steps });
    target.world.bringUp(revisionId ?? '');
    await target.viewOnce(({ state }) => state.history.length === 2);
    for (const artifact of ['c', 'd', 'e', 'f']) await target.release(artifact);
    return target;
  },
  'patch-lands-late': async (harness) => {
    const { target } = harness.newServingTarget();
    target.world.slow.add(identity('b'));
    const late = landsLate((world) => world.called('awaitLateUpload'));
    target.world.next('patchDeployment', late, unansweredAndLost, unansweredAndLost);
    await target.release('b');
    const { state } = await target.viewOnce((view) => view.state.late.length > 0);
    target.world.bringUp(state.late[0]?.revisionId ?? '');
    await target.viewOnce((view) => view.state.history.length === 2);
    return target;
  },
  undecided: async (harness) => {
    const { target } = harness.newServingTarget();
    target.world.next('patchDeployment', unansweredButTaken);
    target.world.next('readDeployment', refused('SLIPWAY_UNAUTHORIZED', 401));
    const { releaseId } = await target.submit('b', { onError: { then: 'wait', waitMs: 60_000 } });
    await target.waitsFor(releaseId, 'decision');
    await target.say(releaseId, 'retry', BO);
    await target.result(releaseId);
    target.world.next('runCheck', notTaken(), notTaken());
    await target.release('c', { onError: { then: 'wait', waitMs: 10 } });
    target.world.next('runCheck', notTaken(), notTaken());
    await target.release('d', { onError: { then: 'stop', waitMs: 0 } });
    return target;
  },
  'nothing-changed': async (harness) => {
    const target = harness.newTarget();
    target.world.next('createDeployment', refused('SLIPWAY_CONFLICT', 409));
    await target.release('a');
    target.world.next('uploadArtifact', refused());
    await target.release('b');
    target.world.next('patchDeployment', refused());
    await target.release('c');
    const gate = target.world.gate('uploadArtifact');
    const { releaseId } = await target.submit('d');
    await target.world.called('uploadArtifact', 3);
    await target.child(releaseId).cancel();
    await target.result(releaseId);
    gate.open();
    return target;
  },
  'a-person-is-needed': async (harness) => {
    const target = harness.newTarget();
    target.world.bad.add(identity('a'));
    await target.release('a');
    target.world.next('createDeployment', unansweredAndLost);
    target.world.next('patchDeployment', unansweredAndLost);
    const artifact = { kind: 'image', uri: 'registry.test/agent:1' } as const;
    await target.release('b', { artifact, graphConfigPath: null });
    const first = await target.rollback();
    if (first.disposition === 'queued') await target.ended(first.requestId);
    const { revisionId } = await target.release('c', { overrideHold: true });
    await target.release('d', { overrideHold: true });
    target.world.broken.set(revisionId ?? '', 'DEPLOY_FAILED');
    await target.ended((await target.rollback({ to: revisionId ?? '' })).requestId);
    target.world.next('findDeployment', refused('SLIPWAY_UNAUTHORIZED', 401));
    await target.ended((await target.rollback({ to: revisionId ?? '' })).requestId);
    await target.signal('rollback', { to: 'a-slip-of-the-pen' });
    await target.idle();
    return target;
  },
  'never-started': async (harness) => {
    const { target } = harness.newServingTarget({ continueAsNewAfterEvents: 20 });
    const running = await polls(target, 'b');
    await target.submit('c');
    await target.submit('d');
    await target.handle.executeUpdate('hold', { args: [BO] });
    await target.submit('e');
    target.world.slow.clear();
    await target.say(running, 'skip', { ...BO, what: 'soak' });
    await target.result(running);
    await target.carriedOn(BO);
    return target;
  },
  'changed-by-hand': async (harness) => {
    const target = harness.newTarget();
    await target.release('a');
    await target.idle();
    target.world.bringUp(target.world.patchElsewhere());
    await target.release('a');
    await target.release('b');
    return target;
  },
  'canceled-target': async (harness) => {
    const { target } = harness.newServingTarget();
    const running = await polls(target, 'b');
    await target.handle.cancel();
    target.world.slow.clear();
    await target.say(running, 'skip', { ...BO, what: 'soak' });
    await target.result(running);
    return target;
  },
  'terminated-target': async (harness) => {
    const { target } = harness.newServingTarget();
    await polls(target, 'b');
    await target.handle.terminate('by hand');
    target.startWith({});
    await target.release('c');
    return target;
  },
};
