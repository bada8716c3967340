import { Context } from '@temporalio/activity';

import type { Activities } from '../../src/activities/activities.ts';
import type { Untracked } from '../../src/activities/track.ts';
import type { TargetSpec } from '../../src/domain/target/targetSpec.ts';
import { failure } from './failures.ts';
import { Services } from './services.ts';
import { Gate, tryThroughServer } from './waits.ts';
import { type ActivityName, worldActivities } from './worldActivities.ts';

export type WatchRound = Untracked<Activities>['watchRevision'];
export type WatchInput = Parameters<WatchRound>[0];
export type WatchResult = Awaited<ReturnType<WatchRound>>;

/** One call to the world. Times are milliseconds of one clock. */
export interface Call {
  readonly activity: ActivityName;
  readonly workflowId: string;
  readonly runId: string;
  readonly attempt: number;
  readonly revisionId: string | undefined;
  readonly startedAt: number;
  endedAt: number | undefined;
}

/** The calls that can fail. Those that are no calls to a world belong to the world of their target. */
type FaultyName = ActivityName | 'submitToTarget' | 'rollBackTarget' | 'carryOutOrder' | 'recallTarget';

/** What happens to one call instead of, before, or after its effect. */
export type Fault = (perform: () => Promise<unknown>, world: World) => Promise<unknown>;

/** The services of a target, in which any call can fail in any way. */
export class World extends Services {
  readonly calls: Call[] = [];
  readonly activities: Pick<Activities, ActivityName> = worldActivities(this);
  readonly #faults = new Map<FaultyName, Fault[]>();
  readonly #tries = new Map<ActivityName, Fault[]>();
  readonly #gates = new Set<Gate>();
  #waiters: (() => void)[] = [];

  /** The faults of the next calls of an activity, in order. Later calls succeed. */
  next(activity: FaultyName, ...faults: Fault[]): void {
    this.#faults.set(activity, [...(this.#faults.get(activity) ?? []), ...faults]);
  }

  /** The faults of the next local tries of an activity, in order. A try without one reports that it took no time. */
  nextTries(activity: ActivityName, ...faults: Fault[]): void {
    this.#tries.set(activity, faults);
  }

  /** Holds the next call of an activity until the gate is opened, or the call is canceled. */
  gate(activity: ActivityName, after?: Fault): Gate {
    const gate = new Gate();
    this.#gates.add(gate);
    this.next(activity, async (perform, world) => {
      await gate.passed();
      return after === undefined ? perform() : after(perform, world);
    });
    return gate;
  }

  close(): void {
    for (const gate of this.#gates) gate.open();
  }

  /** Resolves once an activity was called so many times. */
  async called(activity: ActivityName, times = 1): Promise<void> {
    await this.until(() => this.count(activity) >= times);
  }

  /** Resolves once a condition holds. Calls can change it. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  count(activity: ActivityName): number {
    return this.calls.filter((call) => call.activity === activity).length;
  }

  get redeployed(): (string | undefined)[] {
    return this.calls.filter((call) => call.activity === 'redeployRevision').map((call) => call.revisionId);
  }

  readDeployment(): Promise<unknown> {
    const target = { name: 'any' } as TargetSpec;
    return this.activities.readDeployment({ target, deploymentId: this.existing().id });
  }

  /** Performs one call of an activity, with its next fault if there is one. */
  async call(activity: ActivityName, input: unknown): Promise<unknown> {
    const { attempt, workflowExecution, isLocal } = Context.current().info;
    // A call with a fault runs through the server, where it may take its time and be retried.
    if (isLocal && (this.#faults.get(activity) ?? []).length > 0) throw tryThroughServer();
    const trial = isLocal ? this.#tries.get(activity)?.shift() : undefined;
    const call: Call = {
      activity,
      workflowId: workflowExecution?.workflowId ?? '',
      runId: workflowExecution?.runId ?? '',
      attempt,
      revisionId: (input as { revisionId?: string }).revisionId,
      startedAt: performance.now(),
      endedAt: undefined,
    };
    this.calls.push(call);
    this.wake();
    const carryOut = this.activities[activity] as (input: unknown) => Promise<unknown>;
    const perform = (said: unknown): Promise<unknown> =>
      trial === undefined ? carryOut(said) : trial(() => carryOut(said), this);
    const { target } = input as { target?: TargetSpec };
    const isRefused = this.refusedKeys.has(target?.apiKey.from ?? '');
    try {
      const result = (await (isRefused
        ? refuseKey()
        : this.faulty(activity, () => perform(input)))) as object;
      // Which activities are tried locally must not depend on the machine's load.
      return { ...result, attempt, ...(isLocal && trial === undefined ? { tookMs: 0 } : {}) };
    } finally {
      call.endedAt = performance.now();
      this.wake();
    }
  }

  /** Performs one round of watching a revision, as of a soak. */
  watch(input: WatchInput, round: WatchRound): Promise<WatchResult> {
    return round(input);
  }

  faulty<T>(name: FaultyName, perform: () => Promise<T>): Promise<T> {
    const fault = this.#faults.get(name)?.shift();
    return fault === undefined ? perform() : (fault(perform, this) as Promise<T>);
  }

  protected wake(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }
}

function refuseKey(): Promise<never> {
  return Promise.reject(failure('SLIPWAY_UNAUTHORIZED', { taken: false, final: true, status: 401 }));
}
