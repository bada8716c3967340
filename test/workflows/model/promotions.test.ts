import { randomUUID } from 'node:crypto';

import { type WorkflowHandle, WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import fc from 'fast-check';
import { expect, inject, it } from 'vitest';

import { audit } from '../../../src/domain/audit/audit.ts';
import { INTERVENTION_KINDS } from '../../../src/domain/intervention/intervention.ts';
import { type PromotionRequest, promotionWorkflowId } from '../../../src/domain/promotion/promotion.ts';
import { INTERVENTION_UPDATES } from '../../../src/messages/release.ts';
import { readTargetFacts } from '../../../src/temporal/history/readFacts.ts';
import { type Harness, replayFailures } from '../harness.ts';
import { openOwnHarness } from '../projectHarness.ts';
import { promotionRequest } from '../promotion/promotionsUnderTest.ts';
import type { RecordedHistory } from '../recordedHistory.ts';
import { identity } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';
import type { Gate } from '../waits.ts';

/** A sequence takes as long as three of the model's. Repeat a run by `SLIPWAY_MODEL_SEED`, as with the model. */
const LONG = process.env['SLIPWAY_MODEL_RUNS'];
const RUNS = LONG === undefined ? 3 : Math.ceil(Number(LONG) / 10);
const SEED = Number(process.env['SLIPWAY_MODEL_SEED'] ?? (LONG === undefined ? 1 : Date.now() % 2 ** 30));
const LANES = 3;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** How long the promotion and its targets may take to come to rest. It is enough for a busy machine. */
const PATIENCE_MS = 120_000;
/** After this long at rest, what a target still does is stopped by a person: a release may wait for one. */
const STOPPED_AFTER_MS = 3_000;
const LOOK_MS = 100;

const BO = { who: 'bo', reason: 'a reason' };

/** A promotion and its targets. */
class Promoted {
  readonly canary: TargetUnderTest;
  readonly production: TargetUnderTest;
  readonly gates: Gate[] = [];
  readonly #harness: Harness;
  readonly #request: PromotionRequest;

  constructor(harness: Harness, canary: TargetUnderTest, changes: Partial<PromotionRequest>) {
    this.#harness = harness;
    this.canary = canary;
    this.production = harness.newServingTarget().target;
    this.#request = promotionRequest(canary, this.production, changes);
  }

  get targets(): readonly TargetUnderTest[] {
    return [this.canary, this.production];
  }

  get promotion(): WorkflowHandle {
    return this.#harness.client.workflow.getHandle(promotionWorkflowId(this.#request));
  }

  async start(): Promise<void> {
    await this.#harness.client.workflow.start('promotion', {
      workflowId: promotionWorkflowId(this.#request),
      taskQueue: this.#harness.taskQueue,
      args: [{ request: this.#request }],
    });
  }

  /** Resets the promotion to one of the workflow tasks that it completed. */
  async reset(pick: number): Promise<void> {
    const { events } = await this.promotion.fetchHistory();
    const tasks = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes != null);
    const task = tasks.at(pick % Math.max(tasks.length, 1));
    const { workflowId } = this.promotion;
    if (task !== undefined) await this.production.resetTo(task.eventId, { workflowId });
  }

  /** Ends everything: held calls go on, and a person resumes and aborts. Throws if something goes on all the same. */
  async comeToRest(): Promise<void> {
    for (const target of this.targets) {
      target.world.close();
      await startAgain(target);
    }
    await this.promotion.signal('resume', BO).catch(ignoreRefusal);
    await this.promotion.signal('abort', BO).catch(ignoreRefusal);
    await untilTrue(
      'the promotion ends',
      async () => (await this.promotion.describe()).status.name !== 'RUNNING',
    );
    for (const target of this.targets) {
      const stopFrom = Date.now() + STOPPED_AFTER_MS;
      await untilTrue(`${target.workflowId} comes to rest`, async () => {
        const { state, running } = await target.view();
        if (running === null && state.queue.length === 0 && state.rollbacks.length === 0) return true;
        if (Date.now() < stopFrom) return false;
        await target.signal('withdraw', BO);
        if (running !== null) await target.child(running.releaseId).signal('abort', BO).catch(ignoreRefusal);
        return false;
      });
    }
  }

  /** The histories of all runs of the promotion, also of those that another start or a reset ended. */
  async ofPromotion(): Promise<RecordedHistory[]> {
    const { workflowId } = this.promotion;
    const histories: RecordedHistory[] = [];
    const query = `WorkflowId = ${JSON.stringify(workflowId)}`;
    for await (const { runId } of this.#harness.client.workflow.list({ query })) {
      const run = this.#harness.client.workflow.getHandle(workflowId, runId);
      histories.push({ workflowId, history: await run.fetchHistory() });
    }
    return histories;
  }

  async abandon(): Promise<void> {
    await this.promotion.terminate().catch(ignoreRefusal);
    for (const target of this.targets) {
      target.world.close();
      await target.terminate().catch(ignoreRefusal);
      this.#harness.forget(target);
    }
  }
}

async function untilTrue(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const until = Date.now() + PATIENCE_MS; !(await holds());) {
    if (Date.now() > until) throw new Error(`not true after ${PATIENCE_MS} ms: ${what}`);
    await pause(LOOK_MS);
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

async function startAgain(target: TargetUnderTest): Promise<void> {
  target.startWith({ recordStore: target.request('any').recordStore });
  await target.startOnly().catch(ignoreRefusal);
}

/** What the target, the promotion or Temporal refuses at this moment changes nothing. */
function ignoreRefusal(error: unknown): void {
  const isRefusal =
    error instanceof WorkflowUpdateFailedError ||
    error instanceof WorkflowNotFoundError ||
    /already (?:started|completed)|must be > 1/.test(String((error as Error).cause ?? error));
  if (!isRefusal) throw error;
}

type Happens = (promoted: Promoted, target: TargetUnderTest, pick: number) => unknown;

async function stopRunning(target: TargetUnderTest, how: 'terminate' | 'cancel'): Promise<void> {
  const { running } = await target.view();
  if (running !== null) await target.child(running.releaseId)[how]();
}

const HELD = ['uploadArtifact', 'patchDeployment', 'awaitDeployed', 'runCheck', 'redeployRevision'] as const;

/** What can happen, each at any moment. */
const EVENTS: Readonly<Record<string, Happens>> = {
  release: (_, target, pick) =>
    target.submit(['b', 'd', 'e'][pick % 3] ?? '', { queue: pick % 2 === 0 ? 'latest' : 'all' }),
  'release what fails': (_, target) => {
    target.world.bad.add(identity('f'));
    return target.submit('f');
  },
  'b fails from now on': (_, { world }) => void world.bad.add(identity('b')),
  'roll back': (_, target, pick) => (pick % 2 === 0 ? target.rollback(BO) : target.signal('rollback', BO)),
  hold: (_, target) => target.signal('hold', BO),
  unhold: (_, target) => target.signal('unhold', BO),
  quarantine: (_, target) => target.signal('quarantine', { ...BO, artifact: identity('b') }),
  withdraw: (_, target) => target.signal('withdraw', BO),
  'terminate the target': async (_, target) => {
    await target.handle.terminate('by hand');
    await startAgain(target);
  },
  'reset the target': (_, target, pick) =>
    target.reset((['first', 'middle', 'last'] as const)[pick % 3] ?? 'last'),
  'lose the worker': (_, target) => target.loseWorker(),
  'terminate what runs': (_, target) => stopRunning(target, 'terminate'),
  'cancel what runs': (_, target) => stopRunning(target, 'cancel'),
  'hold a call': ({ gates }, { world }, pick) =>
    void gates.push(world.gate(HELD[pick % HELD.length] ?? 'runCheck')),
  'let the calls go on': ({ gates }) => {
    for (const gate of gates.splice(0)) gate.open();
  },
  'say something to the promotion': ({ promotion }, _, pick) => {
    const kind = INTERVENTION_KINDS[pick % INTERVENTION_KINDS.length] ?? 'abort';
    const said = kind === 'skip' ? { ...BO, what: 'soak' } : BO;
    if (pick % 2 === 0) return promotion.signal(kind, said);
    return promotion.executeUpdate(INTERVENTION_UPDATES[kind], { args: [said] });
  },
  'cancel the promotion': ({ promotion }) => promotion.cancel(),
  'terminate the promotion': ({ promotion }) => promotion.terminate(),
  'reset the promotion': (promoted, _, pick) => promoted.reset(pick),
  'promote again': (promoted) => promoted.start(),
};

const sequence = fc.record({
  changes: fc.record({
    soakMs: fc.constantFrom(0, 30, HOUR_MS),
    bakeMs: fc.constantFrom(0, 50, HOUR_MS),
    approval: fc.option(fc.constant({ required: 1, withinMs: HOUR_MS }), { nil: undefined, freq: 2 }),
  }),
  events: fc.array(
    fc.record({
      afterMs: fc.constantFrom(0, 5, 20, 60, 150),
      what: fc.constantFrom(
        ...Object.keys(EVENTS),
        // These decide most about how a promotion ends.
        ...['say something to the promotion', 'reset the promotion', 'promote again', 'hold a call'],
      ),
      on: fc.constantFrom('canary' as const, 'production' as const),
      pick: fc.nat(29),
    }),
    { minLength: 3, maxLength: 14 },
  ),
});

it(
  'whatever happens, an aborted promotion ends, its targets come to rest, and it reports what its release did',
  { timeout: LONG === undefined ? 600_000 : DAY_MS },
  async () => {
    const { harness } = await openOwnHarness({ nameWorld: () => randomUUID(), ...inject('workerMode') });
    const histories: RecordedHistory[] = [];
    const property = fc.asyncProperty(sequence, async ({ changes, events }) => {
      const [canary] = await harness.newReleasedTarget('x', 'b');
      const promoted = new Promoted(harness, canary, changes);
      try {
        await startAgain(promoted.production);
        await promoted.start();
        for (const { afterMs, what, on, pick } of events) {
          await pause(afterMs);
          await Promise.resolve(EVENTS[what]?.(promoted, promoted[on], pick)).catch(ignoreRefusal);
        }
        await promoted.comeToRest();
        const ofPromotion = await promoted.ofPromotion();
        for (const target of promoted.targets) {
          const own = await target.histories();
          histories.push(...own);
          const facts = readTargetFacts(target.workflowId, [...own, ...ofPromotion]);
          expect(audit({ target: facts, observed: null, secrets: [] })).toEqual([]);
        }
        histories.push(...ofPromotion);
      } finally {
        await promoted.abandon();
      }
    });
    try {
      const lane = (index: number) =>
        fc.assert(property, {
          numRuns: Math.ceil(RUNS / LANES),
          seed: SEED + index,
          includeErrorInReport: true,
        });
      const ended = await Promise.allSettled(Array.from({ length: LANES }, (_, index) => lane(index)));
      const failures = ended.flatMap((end) => (end.status === 'rejected' ? [String(end.reason)] : []));
      expect(failures.join('\n\n')).toBe('');
      expect(await replayFailures(inject('workflowBundle'), histories)).toEqual([]);
    } finally {
      await harness.close();
    }
  },
);
