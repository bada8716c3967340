import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';

import { WorkflowNotFoundError } from '@temporalio/client';
import protos from '@temporalio/proto';
import { expect } from 'vitest';

import { audit } from '../../../src/domain/audit/audit.ts';
import type { TargetFacts } from '../../../src/domain/audit/facts.ts';
import type { Check } from '../../../src/domain/check/check.ts';
import { type GuardPolicy, guardRequestId, guardWorkflowId } from '../../../src/domain/guard/guardPolicy.ts';
import { FREEZE, type InterventionKind, SOAK } from '../../../src/domain/intervention/intervention.ts';
import type { ReleaseRequest, ReleaseResult, Waiting } from '../../../src/domain/release/release.ts';
import type { StepOverrides } from '../../../src/domain/step.ts';
import { EMPTY_TARGET } from '../../../src/domain/target/targetState.ts';
import type { InterventionMessage } from '../../../src/messages/release.ts';
import type { TargetInput } from '../../../src/messages/workflowTypes.ts';
import { readTargetFacts } from '../../../src/temporal/history/readFacts.ts';
import type { Harness } from '../harness.ts';
import type { RecordedHistory } from '../recordedHistory.ts';
import { GREETS, QUICK } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';
import type { Measured } from './guardCommands.ts';
import type { Said } from './messageCommands.ts';
import { expected, observed } from './observe.ts';
import type { Beginning, Guarded, Plan } from './plan.ts';
import { ScriptedWorld } from './scriptedWorld.ts';
import type { TargetModel } from './targetModel.ts';

/** How long to wait for an expected state. It is enough for a busy machine. */
const PATIENCE_MS = 120_000;
const HOUR_MS = 3_600_000;
/** How long to wait for a revision that never deploys. On a busy machine, other revisions deploy within this time. */
const HANGS_MS = 4_000;

/** The deadline of an attempt whose answer comes too late; enough for others on a busy machine. */
const SHORT_MS = 2_000;

/** A soak that nothing holds. */
const SHORT_SOAK_MS = 20;

/** A guard that measures only if it is told to. */
const GUARD: Omit<GuardPolicy, 'noData'> = {
  forMs: 2 * HOUR_MS,
  everyMs: HOUR_MS,
  afterMs: HOUR_MS,
  metrics: [
    {
      name: 'errors',
      source: { kind: 'http', url: 'http://metrics.test/errors', path: 'value' },
      max: 0.5,
    },
  ],
};

/** What a release waits for at a stage. At other stages it does not wait for a person. */
const WAITS_FOR: Readonly<Record<string, Waiting['for']>> = {
  paused: 'resume',
  decision: 'decision',
  approval: 'approval',
  freeze: 'freeze',
};

/** The world says when a freeze is in force. */
const FREEZES = [{ name: 'a freeze', timeZone: 'UTC', from: '22:00', until: '23:00', then: 'wait' }] as const;

/** All checks have one name, so that a person skips them alike. */
function questionOf({ artifact, asks }: Plan): Check {
  return asks === 'what all answer' ? GREETS : { ...GREETS, expect: { contains: artifact } };
}

/** Short deadlines for the steps whose answers come too late. */
function shortWhereTooLate(plan: Plan): StepOverrides {
  const steps = (['create', 'upload', 'patch', 'check', 'redeploy'] as const).filter(
    (step) => plan[step] === 'too late',
  );
  return Object.fromEntries(steps.map((step) => [step, { ...QUICK[step], startToCloseMs: SHORT_MS }]));
}

export class Subject {
  readonly world: ScriptedWorld;
  readonly target: TargetUnderTest;
  readonly #harness: Harness;
  readonly #restarts: TargetInput;
  #other: TargetUnderTest | undefined;

  constructor(harness: Harness, id: string, { deployment, ...beginning }: Beginning) {
    const world = new ScriptedWorld(id);
    world.controlPlane.redeployMakesRevision = beginning.redeployMakesRevision;
    const { continueAsNewAfterEvents } = beginning;
    let input: TargetInput = { continueAsNewAfterEvents };
    this.#restarts = input;
    if (deployment !== 'empty') {
      const revisionId = world.madeElsewhere('agent');
      const known = [{ revisionId, verified: true, at: '2026-01-01T00:00:00.000Z' }];
      if (deployment === 'serving') {
        input = { continueAsNewAfterEvents, state: { ...EMPTY_TARGET, known, activeRevisionId: revisionId } };
      }
    }
    this.world = world;
    this.#harness = harness;
    this.target = harness.newTargetIn(world, input);
  }

  request(plan: Plan): ReleaseRequest {
    const { artifact, variant, queue, overrideHold, stop, freeze, onError, soak, guard } = plan;
    const request = this.target.request(artifact);
    return {
      ...request,
      requestKey: `${artifact}/${variant}`,
      queue,
      overrideHold,
      onError: { then: onError, waitMs: HOUR_MS },
      checks: [questionOf(plan)],
      steps: {
        ...QUICK,
        deployed: { ...QUICK.deployed, scheduleToCloseMs: artifact === 'hangs' ? HANGS_MS : HOUR_MS },
        // Each round is an attempt.
        soak: { retry: { ...QUICK.soak?.retry, maximumAttempts: 0 } },
        ...shortWhereTooLate(plan),
      },
      soakMs: soak === 'none' ? 0 : stop === 'soak' ? HOUR_MS : SHORT_SOAK_MS,
      ...(guard === null ? {} : { guard: policyOf(guard) }),
      ...(freeze === 'none' ? {} : { freezes: FREEZES, overrideFreeze: freeze === 'is overridden' }),
      ...(stop === 'approval' ? { approval: { required: 1, withinMs: HOUR_MS } } : {}),
    };
  }

  async terminateTarget(): Promise<void> {
    await this.target.handle.terminate('by hand');
    this.target.startWith({ ...this.#restarts, recordStore: this.target.request('any').recordStore });
    await this.target.startOnly();
  }

  async touchLock(how: 'terminate' | 'cancel'): Promise<void> {
    const lock = this.target.workflow(`deployment:${this.world.deployment?.id ?? ''}`);
    await (how === 'cancel' ? lock.cancel() : lock.terminate('by hand')).catch((error: unknown) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    });
  }

  /** Releases on the same deployment under another address of its control plane. */
  async releaseUnderOtherSpelling(plan: Plan): Promise<ReleaseResult> {
    this.#other ??= this.#harness.newTargetIn(this.world, {}, ':8080');
    const { target, ...request } = this.request({ ...plan, stop: null, overrideHold: true });
    const { controlPlane } = this.#other.request('any').target;
    return this.#other.release({ ...request, target: { ...target, controlPlane } });
  }

  /** Sends an intervention to the running release by its own update. @returns why it was refused. */
  async say(releaseId: string, said: Said): Promise<string | undefined> {
    const { kind, what } = wordsOf(said);
    return refusal(this.target.say(releaseId, kind, { who: 'bo', reason: 'a reason', ...what }));
  }

  /** Sends it by signal to the target, and waits until the release has received it. */
  async saySignal(releaseId: string, said: Said, message: InterventionMessage): Promise<void> {
    const requestId = randomUUID();
    const { kind, what } = wordsOf(said);
    await this.target.signal(kind, { ...message, ...what, requestId });
    await this.target.progressOnce(releaseId, ({ interventions }) =>
      interventions.some(({ id }) => id === requestId),
    );
  }

  /** Runs the next round of the soak now. */
  async takeRound(releaseId: string): Promise<void> {
    const workflowId = `${this.target.workflowId}/${releaseId}`;
    await this.#round(workflowId, 'watchRevision', await this.#pausing(workflowId, 'watchRevision'));
  }

  async measure(releaseId: string, found: Measured, isLast: boolean): Promise<void> {
    const workflowId = guardWorkflowId(this.target.workflowId, releaseId);
    // Not before its first round is over, which would measure then.
    const id = await this.#pausing(workflowId, 'guardRevision');
    this.world.measures = () => VALUES[found];
    this.world.guardsMeasure = isLast ? 'at their end' : 'now';
    await this.#round(workflowId, 'guardRevision', id);
    this.world.guardsMeasure = 'not yet';
  }

  /** Ends a guard with Temporal's own tools. */
  async endGuard(releaseId: string, how: 'cancel' | 'terminate'): Promise<void> {
    const guard = this.target.workflow(guardWorkflowId(this.target.workflowId, releaseId));
    await (how === 'cancel' ? guard.cancel() : guard.terminate('by hand'));
  }

  /** Runs the next round of an activity that pauses. */
  async #round(workflowId: string, activity: 'watchRevision' | 'guardRevision', id: string): Promise<void> {
    const { rounds } = this.world;
    const before = rounds[activity];
    const { workflowService } = this.target.handle.client;
    await workflowService.resetActivity({ namespace: 'default', execution: { workflowId }, id });
    await this.#soon(() => rounds[activity] > before);
  }

  /** The id of an activity, once it pauses before its next attempt. */
  async #pausing(workflowId: string, activity: string): Promise<string> {
    const { PENDING_ACTIVITY_STATE_SCHEDULED } = protos.temporal.api.enums.v1.PendingActivityState;
    for (const until = Date.now() + PATIENCE_MS; Date.now() < until;) {
      const { raw } = await this.target.workflow(workflowId).describe();
      const pending = raw.pendingActivities?.find(({ activityType }) => activityType?.name === activity);
      if (pending?.state === PENDING_ACTIVITY_STATE_SCHEDULED && (pending.attempt ?? 0) > 1)
        return pending.activityId ?? '';
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`${activity} of ${workflowId} does not pause`);
  }

  guardRequestId(releaseId: string): string {
    return guardRequestId(this.target.workflowId, releaseId);
  }

  async isAs(model: TargetModel): Promise<void> {
    if (!model.started) return;
    const until = Date.now() + PATIENCE_MS;
    const { running } = model;
    const gates: readonly string[] = ['upload', 'patch', 'deployed', 'check', 'soak'];
    const atGate = running !== null && gates.includes(running.stage);
    await this.#soon(() => {
      if (this.world.records.length < model.ran) return false;
      return !atGate || this.world.isHeldUp(running.id);
    });
    const wanted = expected(model);
    const wait = running === null ? undefined : WAITS_FOR[running.stage];
    let last: unknown;
    let ignored: readonly string[] = [];
    for (let pauseMs = 10; Date.now() < until; pauseMs = Math.min(pauseMs * 2, 500)) {
      const view = await this.target.view();
      last = observed(view, this.world);
      ignored = view.state.ignored.map(({ message, reason }) => `${message}: ${reason}`);
      if (isDeepStrictEqual(last, wanted) && (await this.#isSettled(running, wait))) return;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    expect(last, `ignored so far: ${ignored.join('; ')}`).toEqual(wanted);
    throw new Error(
      `the release does not wait for ${wait ?? 'nobody'}, or there is no end of workflow tasks`,
    );
  }

  /** Whether no message is unhandled, and the release waits for the right person, or for nothing but its gate. */
  async #isSettled(running: TargetModel['running'], wait: Waiting['for'] | undefined): Promise<boolean> {
    if (await this.target.isBehind()) return false;
    if (running === null) return true;
    const { waiting, baseline } = await this.target.progressOnce(running.id, () => true);
    // The checks of the baseline run beside the upload.
    if (running.stage === 'upload' && baseline === null) return false;
    return waiting?.for === wait && !(await this.target.isBehind(running.id));
  }

  async close(model: TargetModel): Promise<readonly RecordedHistory[]> {
    try {
      if (!model.started) return [];
      const histories = await this.target.histories();
      const facts = withoutTime(readTargetFacts(this.target.workflowId, histories));
      expect(audit({ target: facts, observed: this.world.observed, secrets: [] })).toEqual([]);
      return histories;
    } finally {
      await this.abandon();
      // A guard outlives its target.
      const { guard } = model;
      const goesOn = guard !== null && guard.ended === undefined && guard.isTerminated !== true;
      if (goesOn) await this.endGuard(guard.release, 'terminate');
    }
  }

  /** Ends the target in any state. */
  async abandon(): Promise<void> {
    this.world.close();
    await this.target.terminate().catch((error: unknown) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    });
    this.#harness.forget(this.target);
    if (this.#other === undefined) return;
    await this.#other.terminate();
    this.#harness.forget(this.#other);
  }

  /** Sends the next workflow task to any worker, without a cached workflow, as after a worker's death. */
  async loseWorker(releaseId: string | undefined): Promise<void> {
    await this.target.loseWorker();
    if (releaseId !== undefined) await this.target.loseWorker(releaseId);
  }

  async #soon(holds: () => boolean): Promise<void> {
    const late = new Promise<void>((resolve) => {
      setTimeout(resolve, PATIENCE_MS).unref();
    });
    await Promise.race([this.world.until(holds), late]);
  }
}

/** What a metric answers. */
const VALUES: Readonly<Record<Measured, number | null>> = { worse: 1, good: 0, nothing: null };

function policyOf({ noData, holds }: Guarded): GuardPolicy {
  return { ...GUARD, noData, ...(holds ? {} : { hold: false }) };
}

/** The facts for an audit: the world skips the time of guards that pass. */
function withoutTime(facts: TargetFacts): TargetFacts {
  return { ...facts, guards: facts.guards.map((guard) => ({ ...guard, until: guard.since })) };
}

function wordsOf(said: Said): { readonly kind: InterventionKind; readonly what: { readonly what?: string } } {
  if (said === 'skip the soak') return { kind: 'skip', what: { what: SOAK } };
  if (said === 'skip the freeze') return { kind: 'skip', what: { what: FREEZE } };
  return { kind: said, what: said === 'skip' ? { what: GREETS.name } : {} };
}

/** The reason with which an update was refused; `undefined` if it was accepted. */
export async function refusal(update: Promise<unknown>): Promise<string | undefined> {
  try {
    await update;
    return undefined;
  } catch (error) {
    const { cause } = error as { cause?: Error };
    if (cause === undefined) throw error;
    return cause.message;
  }
}
