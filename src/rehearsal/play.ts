import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';

import {
  type Client,
  WithStartWorkflowOperation,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client';

import type { Artifact } from '../domain/artifact/artifact.ts';
import type { ApprovalPolicy } from '../domain/intervention/intervention.ts';
import {
  type PromotionRequest,
  type PromotionResult,
  promotionWorkflowId,
} from '../domain/promotion/promotion.ts';
import { firstTime, type Injection, type Said } from '../domain/rehearsal/injection.ts';
import type { Progress, ReleaseRequest, ReleaseResult } from '../domain/release/release.ts';
import { type PromotionSchedule, scheduleTimes } from '../domain/schedule/schedule.ts';
import { type TargetSpec, targetWorkflowId } from '../domain/target/targetSpec.ts';
import { workflowResult } from '../domain/workflowResult.ts';
import { INTERVENTION_SIGNALS, progressQuery } from '../messages/release.ts';
import { lookupQuery, submitReleaseUpdate, targetStart } from '../messages/target.ts';
import { type TargetWorkflow, WORKFLOW_TYPES } from '../messages/workflowTypes.ts';
import type { SkippedTime } from '../temporal/server/testServer.ts';
import { untilAnswered, type WorkflowExecution } from './attention.ts';
import type { Outcomes } from './outcomes.ts';

export interface Rehearsal {
  /** `schedule`: `null` if the promotion is started whenever there is something to promote. */
  readonly promotions: readonly {
    readonly request: PromotionRequest;
    readonly schedule: PromotionSchedule | null;
  }[];
  readonly targets: readonly { readonly spec: TargetSpec; readonly serves: Artifact }[];
  /** Creates the request for a release of a new version. */
  readonly release: (target: string) => ReleaseRequest;
  /** The targets to which a new version is released at the start. */
  readonly sources: readonly string[];
  readonly days: number;
  readonly injections: readonly Injection[];
  /** The time zone of `clock` injections. */
  readonly timeZone: string;
}

interface PlayOptions {
  readonly client: Client;
  readonly time: SkippedTime;
  readonly taskQueue: string;
  readonly outcomes: Outcomes;
  readonly rehearsal: Rehearsal;
  readonly onEvent: (event: RehearsalEvent) => void;
}

interface AskedRelease {
  readonly request: ReleaseRequest;
  readonly at: number;
  readonly releaseId: string;
}

type Scene = Rehearsal['promotions'][number] & {
  readonly workflowId: string;
  runsSince?: number | undefined;
  /** Whether a run of its schedule waits for the running one. */
  isBuffered: boolean;
};

const LOOK_MS = 5;

/** The course of a rehearsal: releases, schedules and people at their times, and the results. */
export class Play {
  readonly #options: PlayOptions;
  readonly #people: People;
  readonly #scenes: readonly Scene[];
  readonly #releases = new Map<string, AskedRelease>();
  /** The runs that have ended. Several activities of a run may end after its outcome is set. */
  readonly #ended = new Set<string>();
  readonly #failed: Promise<never>;
  #fail: (error: unknown) => void = () => undefined;
  #over = false;

  constructor(options: PlayOptions) {
    this.#options = options;
    this.#scenes = options.rehearsal.promotions.map((promotion) => ({
      ...promotion,
      workflowId: promotionWorkflowId(promotion.request),
      isBuffered: false,
    }));
    this.#people = new People(options.client, options.outcomes, (moment, work) => this.#at(moment, work));
    this.#failed = new Promise<never>((_, reject) => (this.#fail = reject));
    // The failure reaches those who await the end. Until then, it must not count as an unhandled rejection.
    this.#failed.catch(() => undefined);
  }

  fail(error: unknown): void {
    if (!this.#over) this.#fail(error);
  }

  /** Plays from one instant to another. The time is held before and afterwards. */
  async until(startedAt: number, endsAt: number): Promise<void> {
    const { rehearsal, outcomes, time, onEvent } = this.#options;
    try {
      for (const target of rehearsal.sources) await this.#race(this.#release(target, startedAt));
      for (const injection of outcomes.all('release')) {
        const at = firstTime(injection.when, outcomes.beginning);
        if (at === undefined || at >= endsAt) continue;
        await this.#at(at, async () => {
          outcomes.met(injection);
          await this.#release(injection.target, at);
        });
      }
      for (const scene of this.#scenes) {
        if (scene.schedule !== null)
          await this.#chain(scene, scheduleTimes(scene.schedule, startedAt, endsAt));
      }
      await this.#race(time.until(endsAt));
      for (const event of await this.#race(this.#whatGoesOn())) onEvent(event);
    } finally {
      this.#over = true;
    }
  }

  /** Handles a workflow that waits or has ended. The time is held meanwhile. */
  async look({ workflowId, runId }: WorkflowExecution, progress: Progress): Promise<void> {
    if (this.#over || this.#ended.has(runId)) return;
    const scene = this.#scenes.find((one) => one.workflowId === workflowId);
    if (progress.outcome === null) {
      const policy = (this.#releases.get(workflowId) ?? scene)?.request.approval;
      await this.#people.look(workflowId, progress, policy);
      return;
    }
    this.#ended.add(runId);
    const handle = this.#options.client.workflow.getHandle(workflowId, runId);
    await (scene === undefined ? this.#releaseEnded(handle) : this.#promotionEnded(scene, handle));
  }

  /** Schedules work for a moment, at which the time is held. Returns at once. */
  async #at(moment: number, work: () => Promise<void>): Promise<void> {
    const { time } = this.#options;
    await time.hold();
    const wait = async (): Promise<void> => {
      await time.until(moment);
      await work();
      await time.release();
    };
    wait().catch((error: unknown) => this.fail(error));
  }

  async #chain(scene: Scene, [first, ...later]: readonly number[]): Promise<void> {
    if (first === undefined) return;
    await this.#at(first, async () => {
      await this.#turn(scene, first);
      await this.#chain(scene, later);
    });
  }

  async #turn(scene: Scene, at: number): Promise<void> {
    if (scene.runsSince === undefined) return this.#start(scene, at);
    const { request, schedule, isBuffered } = scene;
    const waits = schedule?.overlap === 'buffer_one' && !isBuffered;
    scene.isBuffered ||= waits;
    const what = waits ? 'done_after' : 'left_out';
    this.#options.onEvent({ kind: 'overlap', name: request.name, at, what });
  }

  /** Starts a promotion: as its schedule does, or, without a schedule, as a person does. */
  async #start(scene: Scene, at: number): Promise<void> {
    const { client, taskQueue } = this.#options;
    const { request, schedule, workflowId } = scene;
    scene.runsSince = at;
    const args = [{ request, schedule: schedule ?? undefined }];
    if (schedule === null) {
      await client.workflow.start(WORKFLOW_TYPES.promotion, { workflowId, taskQueue, args });
    } else {
      const turn = `${workflowId}:turn-${new Date(at).toISOString()}`;
      await client.workflow.start(WORKFLOW_TYPES.promotionTurn, { workflowId: turn, taskQueue, args });
    }
  }

  async #release(target: string, at: number): Promise<void> {
    const { client, rehearsal, onEvent, taskQueue } = this.#options;
    const request: ReleaseRequest = rehearsal.release(target);
    const targetId = targetWorkflowId(request.target);
    const operation = new WithStartWorkflowOperation<TargetWorkflow>(
      WORKFLOW_TYPES.target,
      targetStart(request.target, request.recordStore, taskQueue),
    );
    const { releaseId, disposition, reason } = await client.workflow.executeUpdateWithStart(
      submitReleaseUpdate,
      { startWorkflowOperation: operation, args: [request] },
    );
    if (disposition === 'rejected') onEvent({ kind: 'refused', target, at, reason });
    else this.#releases.set(`${targetId}/${releaseId}`, { request, at, releaseId });
  }

  async #promotionEnded(scene: Scene, handle: WorkflowHandle): Promise<void> {
    const { runsSince: at } = scene;
    if (at === undefined) return;
    const result = await workflowResult<PromotionResult>(handle);
    const { isBuffered } = scene;
    const { name, to } = scene.request;
    this.#options.onEvent({ kind: 'promotion', name, at, result });
    scene.runsSince = undefined;
    scene.isBuffered = false;
    const endedAt = Date.parse(result.endedAt);
    if (isBuffered) await this.#start(scene, endedAt);
    if (result.outcome === 'released' && !result.nothingToDo) await this.#askOnwards(to.name, endedAt);
  }

  async #releaseEnded(handle: WorkflowHandle): Promise<void> {
    const { client, onEvent } = this.#options;
    const release = this.#releases.get(handle.workflowId);
    if (release === undefined) return;
    this.#releases.delete(handle.workflowId);
    const { request, at, releaseId } = release;
    const target = request.target.name;
    const result = await workflowResult<ReleaseResult>(handle);
    onEvent({ kind: 'release', target, at, result });
    if (result.outcome !== 'released') return;
    // The target reports what serves once it has handled the result.
    const ofTarget = client.workflow.getHandle(targetWorkflowId(request.target));
    const ended = async () =>
      (await untilAnswered(client, () => ofTarget.query(lookupQuery, releaseId)))?.state;
    while ((await ended()) !== 'ended') await setTimeout(LOOK_MS);
    await this.#askOnwards(target, Date.parse(result.endedAt));
  }

  /** Starts promotions without a schedule, once there is something to promote. */
  async #askOnwards(target: string, at: number): Promise<void> {
    for (const scene of this.#scenes) {
      const { schedule, request, runsSince } = scene;
      if (schedule === null && request.from.name === target && runsSince === undefined)
        await this.#start(scene, at);
    }
  }

  #whatGoesOn(): Promise<readonly RehearsalEvent[]> {
    const promotions = this.#scenes.flatMap(({ request, workflowId, runsSince: at }) =>
      at === undefined ? [] : [{ what: 'promotion' as const, name: request.name, at, workflowId }],
    );
    const releases = [...this.#releases].map(([workflowId, { request, at }]) => ({
      what: 'release' as const,
      name: request.target.name,
      at,
      workflowId,
    }));
    return Promise.all(
      [...promotions, ...releases].map(async ({ workflowId, ...work }) => ({
        kind: 'goes_on' as const,
        ...work,
        progress: await this.#progressOf(workflowId),
      })),
    );
  }

  async #progressOf(workflowId: string): Promise<Progress | null> {
    const { client } = this.#options;
    const handle = client.workflow.getHandle(workflowId);
    try {
      return await untilAnswered(client, () => handle.query(progressQuery));
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return null;
      throw error;
    }
  }

  #race<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#failed]);
  }
}

/** The events of a rehearsal. Instants are milliseconds since 1970, in skipped time. */
export type RehearsalEvent =
  | {
      readonly kind: 'release';
      readonly target: string;
      readonly at: number;
      readonly result: ReleaseResult;
    }
  /** A release that the rehearsal requested was rejected. */
  | { readonly kind: 'refused'; readonly target: string; readonly at: number; readonly reason: string }
  | {
      readonly kind: 'promotion';
      readonly name: string;
      readonly at: number;
      readonly result: PromotionResult;
    }
  /** A schedule's run came while the promotion of an earlier run was running. */
  | {
      readonly kind: 'overlap';
      readonly name: string;
      readonly at: number;
      readonly what: 'left_out' | 'done_after';
    }
  /** A promotion or a release (named by its target) that still runs at the end. */
  | {
      readonly kind: 'goes_on';
      readonly what: 'promotion' | 'release';
      readonly name: string;
      readonly at: number;
      /** `null` for a release that waits in the queue. */
      readonly progress: Progress | null;
    };

/** Does something at a moment, with the time held. */
type AtMoment = (moment: number, work: () => Promise<void>) => Promise<void>;

/** The people of a rehearsal: they answer requests for approval as injected, or else approve at once. */
class People {
  readonly #client: Client;
  readonly #outcomes: Outcomes;
  readonly #at: AtMoment;
  readonly #answered = new Set<string>();

  constructor(client: Client, outcomes: Outcomes, at: AtMoment) {
    this.#client = client;
    this.#outcomes = outcomes;
    this.#at = at;
  }

  /** If a workflow waits for approval, gives the people's answers. */
  async look(workflowId: string, { waiting }: Progress, policy: ApprovalPolicy | undefined): Promise<void> {
    if (waiting?.for !== 'approval' || policy === undefined) return;
    const wait = `${workflowId} ${waiting.since}`;
    if (this.#answered.has(wait)) return;
    this.#answered.add(wait);
    const injected = this.#outcomes.all('approval');
    if (injected.length === 0) for (const said of approvals(policy)) await this.#say(workflowId, said);
    for (const injection of injected) {
      const { says } = injection;
      const say = async (): Promise<void> => {
        if (says === null || (await this.#say(workflowId, says))) this.#outcomes.met(injection);
      };
      if (says === null || says.afterMs === 0) await say();
      else await this.#at(Date.parse(waiting.since) + says.afterMs, say);
    }
  }

  /** Sends a signal; the workflow records it even if it is rejected. Returns `false` if the workflow has ended. */
  async #say(workflowId: string, { who, what }: Pick<Said, 'who' | 'what'>): Promise<boolean> {
    const message = { requestId: randomUUID(), who, from: 'rehearsal' };
    try {
      await this.#client.workflow.getHandle(workflowId).signal(INTERVENTION_SIGNALS[what], message);
      return true;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    }
  }
}

function approvals({ required, approvers = [] }: ApprovalPolicy) {
  return Array.from({ length: required }, (_, index) => {
    return { who: approvers[index] ?? `approver ${index + 1}`, what: 'approve' as const };
  });
}
