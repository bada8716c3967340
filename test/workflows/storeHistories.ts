// Stores the histories that the replay gate (replay.test.ts) replays: a handful that between them take every way that
// the workflows have. To be run, and its result committed, when workflow code is released; older files stay, since
// workflows of their kind may still run.
//
//   npx tsx test/workflows/storeHistories.ts
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';

import { bundleWorkflows, startTemporalServer } from '../support/temporalServer.ts';
import { landsLate, notTaken, unansweredButTaken } from './faults.ts';
import { type Harness, openHarness } from './harness.ts';
import { identity, QUICK } from './requests.ts';
import { type TargetUnderTest } from './targetUnderTest.ts';

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
};

const server = await startTemporalServer();
try {
  const workflowBundle = await bundleWorkflows();
  await mkdir(FOLDER, { recursive: true });
  for (const [life, live] of Object.entries(LIVES)) {
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
