import fc from 'fast-check';
import { expect, it } from 'vitest';

import { jsonBytes, STATE_MAX_BYTES } from '../../src/domain/bounds.ts';
import type { TargetState } from '../../src/domain/target/targetState.ts';
import { describeWorkflows } from './describeWorkflows.ts';
import { notTaken } from './faults.ts';
import { type Garbage, someGarbage } from './garbage.ts';
import type { Harness } from './harness.ts';
import { endAll, heldIn, waitingFor } from './moments.ts';
import { identity } from './requests.ts';
import type { TargetUnderTest } from './targetUnderTest.ts';

/** How many rounds of messages are generated for each state. More than 1: other messages each time. */
const RUNS = Number(process.env['SLIPWAY_FUZZ_RUNS'] ?? 1);
/** Repeats a run: `SLIPWAY_FUZZ_SEED=<seed>`, as printed. */
const SEED = Number(process.env['SLIPWAY_FUZZ_SEED'] ?? (RUNS > 1 ? Math.trunc(Math.random() * 2 ** 30) : 1));
const MINUTES_MS = 240_000;

/** Several times what a target forwards, or what one of its runs holds. */
const FLOOD = RUNS > 1 ? 1_000 : 400;
const BURST = 50;
/** After how many events a flooded target continues as new. */
const RUN_EVENTS = 100;

type State = (harness: Harness) => Promise<TargetUnderTest>;

/** A release that is held in one step. */
function releasing(step: Parameters<TargetUnderTest['world']['gate']>[0], isBad = false): State {
  return async (harness) => {
    const { target } = harness.newServingTarget();
    if (isBad) target.world.bad.add(identity('b'));
    await heldIn(step, target);
    return target;
  };
}

const STATES: Readonly<Record<string, State>> = {
  'that has never taken a release': async (harness) => {
    const target = harness.newTarget();
    await target.startOnly();
    return target;
  },
  'that is on hold': async (harness) => {
    const { target } = harness.newServingTarget();
    await target.release('b');
    await target.handle.executeUpdate('hold', { args: [{ who: 'bo' }] });
    return target;
  },
  'on which releases wait': async (harness) => {
    const target = await releasing('uploadArtifact')(harness);
    await target.submit('c', { queue: 'all' });
    await target.submit('d', { queue: 'all' });
    return target;
  },
  'that sends its PATCH': releasing('patchDeployment'),
  'that polls': releasing('awaitDeployed'),
  'that checks': releasing('runCheck'),
  'that puts back what served': releasing('redeployRevision', true),
  'that is paused': async (harness) => {
    const target = await releasing('uploadArtifact')(harness);
    await target.say('release-1', 'pause');
    return target;
  },
  'that waits for approval': async (harness) => {
    const { target } = harness.newServingTarget();
    await waitingFor('approval', target, 'b', {
      approval: { required: 2, withinMs: 60_000 },
    });
    return target;
  },
  'that waits for a decision': async (harness) => {
    const { target } = harness.newServingTarget();
    target.world.next('uploadArtifact', notTaken(), notTaken(), notTaken());
    await waitingFor('decision', target, 'b', {
      onError: { then: 'wait', waitMs: 60_000 },
    });
    return target;
  },
  'that rolls back': async (harness) => {
    const { target, good } = harness.newServingTarget();
    await target.release('b');
    await target.idle();
    target.world.gate('redeployRevision');
    await target.rollback({ to: good });
    await target.world.called('redeployRevision');
    return target;
  },
};

describeWorkflows(`garbage, seed ${SEED}`, (harness) => {
  it.each(Object.entries(STATES))(
    'sent to a target %s blocks neither the target nor its running release',
    async (state, reach) => {
      const holds = fc.asyncProperty(someGarbage, async (messages) => {
        const target = await reach(harness);
        const { running } = await target.view();
        await Promise.all(messages.map((message) => send(target, message, running?.workflowId)));
        // No generated message, such as a pause, may block it.
        target.world.close();
        await endAll(target);
        const { state: after } = await target.idle();
        expect(sizesOf(after)).toEqual(SMALL);
        await target.handle.executeUpdate('hold', { args: [{ who: 'ada' }] });
        expect(await target.handle.executeUpdate('unhold', { args: [{ who: 'ada' }] })).toBe(false);
      });
      await fc.assert(holds, {
        seed: SEED + Object.keys(STATES).indexOf(state),
        numRuns: RUNS,
        // Shrinking a counterexample would need a release for each attempt.
        endOnFailure: true,
      });
    },
    MINUTES_MS * RUNS,
  );
});

describeWorkflows(`a flood of ${FLOOD} signals`, (harness) => {
  it('that are ignored is recorded within a limit, and an idle target continues as new', async () => {
    const target = harness.newTarget({ continueAsNewAfterEvents: RUN_EVENTS });
    await target.startOnly();
    await flood(
      (turn) => target.signal(turn % 2 === 0 ? 'rollbak' : 'unhold', { who: `${turn}` }),
      async () => !(await target.isBehind()) && (await target.runEvents()) < RUN_EVENTS,
    );
    const { state } = await target.view();
    expect(sizesOf(state)).toEqual(SMALL);
    expect(await target.runCount()).toBeGreaterThan(2);
    const bound = RUN_EVENTS + BURST * EVENTS_PER_SIGNAL;
    for (const { history } of await target.histories()) expect(history.events?.length).toBeLessThan(bound);
  });

  it('to the running release is forwarded in part, and neither ends nor delays it', async () => {
    const target = await releasing('awaitDeployed')(harness);
    const said = await target.say('release-1', 'skip', { who: 'ada', what: 'greets' });
    await flood(
      (turn) => target.signal('resume', { reason: `turn ${turn}` }),
      async () => !(await target.isBehind()) && !(await target.isBehind('release-1')),
    );
    const { state } = await target.view();
    expect(state.ignored.at(-1)?.reason).toBe('100 messages were passed on to the release that runs');
    target.world.close();
    const { outcome, interventions } = await target.result('release-1');
    expect(outcome).toBe('released');
    expect(interventions).toHaveLength(51);
    expect(interventions[0]).toMatchObject({ id: said.id, taken: true });
  });
});

/** What one signal adds to a history at most: its own event, and a workflow task. */
const EVENTS_PER_SIGNAL = 4;

const SMALL = { ignored: true, said: true, all: true };

/** Whether the stored messages of a target stay small. */
function sizesOf(state: TargetState): typeof SMALL {
  const { ignored, said } = state;
  return {
    ignored: ignored.length <= 20,
    said: said.length <= 50,
    all: jsonBytes(state) < STATE_MAX_BYTES,
  };
}

/** Sends one message. It does not matter whether the server or the workflow accepts it. */
async function send(target: TargetUnderTest, message: Garbage, work: string | undefined): Promise<void> {
  const { to, way, name, payload, encoding } = message;
  const workflowId = to === 'work' ? (work ?? target.workflowId) : target.workflowId;
  const handle = target.workflow(workflowId);
  const args = payload === undefined ? [] : [payload];
  const text = payload === undefined ? '{' : JSON.stringify(payload);
  const ways = {
    signal: () => handle.signal(name, ...args),
    bytes: () => target.signalRaw(name, encoding, text, workflowId),
    update: () => handle.executeUpdate<unknown, [unknown]>(name, { args: [payload] }),
    query: () => handle.query(name, ...args),
  };
  await Promise.allSettled([ways[way]()]);
}

async function flood(say: (turn: number) => Promise<void>, dealtWith: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < FLOOD; turn += BURST) {
    await Promise.all(Array.from({ length: BURST }, (_, index) => say(turn + index)));
    while (!(await dealtWith())) await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
