// Stores the histories that the replay gate (replay.test.ts) replays: a handful that between them take every way that
// the workflows have. To be run, and its result committed, when workflow code is released; older files stay, since
// workflows of their kind may still run.
//
//   npx tsx test/workflows/storeHistories.ts [NAME…]
//
// Named: only those, as for a way that the workflows did not have before.
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';

import { bundleWorkflows, startTemporalServer } from '../support/temporalServer.ts';
import { landsLate, notTaken, refused, unansweredButTaken } from './faults.ts';
import { type Harness, openHarness } from './harness.ts';
import { identity, QUICK } from './requests.ts';
import { type TargetUnderTest } from './targetUnderTest.ts';

const BO = { who: 'bo', reason: 'a reason' };
const FOLDER = fileURLToPath(new URL('../histories/', import.meta.url));

/** What is stored: each a target's whole life, under a name of its own. */
const LIVES: Readonly<Record<string, (harness: Harness) => Promise<TargetUnderTest>>> = {
  'first-release-then-failed-check': async (harness) => {
    const target = harness.newTarget();
    await target.release('a', { commit: 'c0ffee', soakMs: 20 });
    target.world.bad.add(identity('b'));
    await target.release('b');
    return target;
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
      await target.progressOnce(releaseId, ({ waiting }) => waiting?.for === 'approval');
      await target.say(releaseId, kind, BO);
      await target.result(releaseId);
    }
    await target.release('late', { approval: { ...approval, withinMs: 10 } });
    return target;
  },
  undecided: async (harness) => {
    const { target } = harness.newServingTarget();
    target.world.next('patchDeployment', unansweredButTaken);
    target.world.next('readDeployment', refused('SLIPWAY_UNAUTHORIZED', 401));
    const { releaseId } = await target.submit('b', { onError: { then: 'wait', waitMs: 60_000 } });
    await target.progressOnce(releaseId, ({ waiting }) => waiting?.for === 'decision');
    await target.say(releaseId, 'retry', BO);
    await target.result(releaseId);
    target.world.next('runCheck', notTaken(), notTaken());
    await target.release('c', { onError: { then: 'wait', waitMs: 10 } });
    target.world.next('runCheck', notTaken(), notTaken());
    await target.release('d', { onError: { then: 'stop', waitMs: 0 } });
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
    return target;
  },
};

/** Submits a release, and waits until it polls its revision. */
async function polls(target: TargetUnderTest, artifact: string): Promise<string> {
  target.world.slow.add(identity(artifact));
  const before = target.world.count('awaitDeployed');
  const { releaseId } = await target.submit(artifact, { soakMs: 3_600_000 });
  await target.world.called('awaitDeployed', before + 1);
  return releaseId;
}

const wanted = process.argv.slice(2);
const server = await startTemporalServer();
try {
  const workflowBundle = await bundleWorkflows();
  await mkdir(FOLDER, { recursive: true });
  for (const [life, live] of Object.entries(LIVES)) {
    if (wanted.length > 0 && !wanted.includes(life)) continue;
    const harness = await openHarness({
      address: server.address,
      workflowBundle,
      taskQueue: 'slipway-histories',
      nameWorld: () => life,
    });
    const target = await live(harness);
    for (const [index, { workflowId, history }] of (await target.histories()).entries()) {
      const kind = /\/(?<kind>release|rollback)-\d+$/.exec(workflowId)?.groups?.['kind'] ?? 'target';
      const json = { workflowId, history: withoutPlaces(JSON.parse(historyToJSON(history))) };
      await writeFile(`${FOLDER}${life}.${index}.${kind}.json`, `${JSON.stringify(json)}\n`);
    }
    await target.terminate();
    await harness.close();
  }
} finally {
  await server.close();
}

/** Leaves out what tells of the machine, and no replay looks at: stack traces. */
function withoutPlaces(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPlaces);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== 'stackTrace')
      .map(([name, field]) => [name, withoutPlaces(field)]),
  );
}
