import { randomUUID } from 'node:crypto';

import type { WorkflowHandle } from '@temporalio/client';

import type { InterventionAnswer, InterventionKind } from '../../../src/domain/intervention/intervention.ts';
import { DEFAULT_POLICY, DEFAULT_SETTINGS, type OnInconclusive } from '../../../src/domain/judge/settings.ts';
import {
  type PromotionJudge,
  type PromotionRequest,
  type PromotionResult,
  promotionWorkflowId,
} from '../../../src/domain/promotion/promotion.ts';
import type { Progress, Waiting } from '../../../src/domain/release/release.ts';
import type { PromotionSchedule } from '../../../src/domain/schedule/schedule.ts';
import { workflowResult } from '../../../src/domain/workflowResult.ts';
import {
  INTERVENTION_UPDATES,
  type InterventionMessage,
  progressQuery,
} from '../../../src/messages/release.ts';
import type { Harness } from '../harness.ts';
import type { RecordedHistory } from '../recordedHistory.ts';
import { QUICK } from '../requests.ts';
import { seen } from '../seen.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';
import { PlacesUnderTest } from './placesUnderTest.ts';

export class PromotionsUnderTest {
  readonly #harness: Harness;
  readonly #started: PromotionUnderTest[] = [];
  #places: PlacesUnderTest | undefined;

  constructor(harness: Harness) {
    this.#harness = harness;
  }

  /**
   * Starts a promotion. Only one per name and target can run at a time.
   * @param schedule - the schedule that starts it. Default: a person starts it.
   */
  async start(
    from: TargetUnderTest,
    to: TargetUnderTest,
    changes: Partial<PromotionRequest> = {},
    schedule?: PromotionSchedule,
  ): Promise<PromotionUnderTest> {
    const request = promotionRequest(from, to, changes);
    const handle = await this.#harness.client.workflow.start('promotion', {
      workflowId: promotionWorkflowId(request),
      taskQueue: this.#harness.taskQueue,
      args: [{ request, schedule }],
    });
    const started = new PromotionUnderTest(handle);
    this.#started.push(started);
    return started;
  }

  async promote(
    from: TargetUnderTest,
    to: TargetUnderTest,
    changes: Partial<PromotionRequest> = {},
  ): Promise<PromotionResult> {
    return (await this.start(from, to, changes)).result();
  }

  /**
   * Triggers a schedule, and waits for the result.
   * @param late - the schedule, and how long it takes until a worker runs. Default: a person triggers it.
   */
  async turn(
    from: TargetUnderTest,
    to: TargetUnderTest,
    late: { readonly schedule?: PromotionSchedule; readonly startDelay?: number } = {},
  ): Promise<string> {
    const handle = await this.#harness.client.workflow.start('promotionTurn', {
      workflowId: `turn-${randomUUID()}`,
      taskQueue: this.#harness.taskQueue,
      args: [{ request: promotionRequest(from, to), schedule: late.schedule }],
      startDelay: late.startDelay,
    });
    this.#started.push(new PromotionUnderTest(handle));
    return handle.result() as Promise<string>;
  }

  /** The places that limit how many promotions run at once. */
  get places(): PlacesUnderTest {
    return (this.#places ??= new PlacesUnderTest(this.#harness));
  }

  async histories(): Promise<RecordedHistory[]> {
    const own = await Promise.all(this.#started.map((promotion) => promotion.history()));
    return [...own, ...((await this.#places?.histories()) ?? [])];
  }
}

export class PromotionUnderTest {
  #handle: WorkflowHandle;

  constructor(handle: WorkflowHandle) {
    this.#handle = handle;
  }

  result(): Promise<PromotionResult> {
    return workflowResult(this.#handle);
  }

  say(kind: InterventionKind, message: InterventionMessage = {}): Promise<InterventionAnswer> {
    return this.#handle.executeUpdate(INTERVENTION_UPDATES[kind], { args: [message] });
  }

  async progressOnce(shows: (progress: Progress) => boolean): Promise<Progress> {
    return seen(this.#handle, async () => {
      const progress = await this.#handle.query(progressQuery);
      return shows(progress) ? progress : undefined;
    });
  }

  waitsFor(what: Waiting['for']): Promise<Progress> {
    return this.progressOnce(({ waiting }) => waiting?.for === what);
  }

  /**
   * Resets it like `temporal workflow reset`.
   * @param called - to the workflow task in which it called this activity. Default: to the last that it completed.
   */
  async reset(called?: string): Promise<void> {
    const { workflowId, client } = this.#handle;
    const { events = [] } = await this.#handle.fetchHistory();
    const calls = events?.findIndex(
      (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === called,
    );
    const last = events
      ?.slice(0, called === undefined ? undefined : calls)
      .findLast((event) => event.workflowTaskCompletedEventAttributes != null);
    await client.workflowService.resetWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId },
      reason: 'by hand',
      requestId: randomUUID(),
      workflowTaskFinishEventId: last?.eventId ?? null,
    });
    this.#handle = client.getHandle(workflowId);
  }

  async history(): Promise<RecordedHistory> {
    return { workflowId: this.#handle.workflowId, history: await this.#handle.fetchHistory() };
  }
}

/** A promotion's judge, with almost no wait before it judges again. */
export function judgedBy(onInconclusive: OnInconclusive): PromotionJudge {
  return {
    inputs: { digest: `sha256:${'1'.repeat(64)}`, name: 'inputs.jsonl' },
    settings: { ...DEFAULT_SETTINGS, assistant: 'agent', policy: DEFAULT_POLICY },
    onInconclusive,
    again: { afterMs: 20, times: 2 },
  };
}

export function promotionRequest(
  from: TargetUnderTest,
  to: TargetUnderTest,
  changes: Partial<PromotionRequest> = {},
): PromotionRequest {
  const { target, checks, graphConfigPath } = to.request('any');
  return {
    name: 'canary-to-production',
    from: { ...from.request('any').target, name: 'canary' },
    to: target,
    downstream: [],
    release: { checks, steps: QUICK, soakMs: 0, graphConfigPath },
    soakMs: 0,
    bakeMs: 0,
    checkEveryMs: 20,
    freezes: [],
    differences: [],
    store: `file:///${to.world.id}`,
    requestedBy: { who: 'cy', from: 'test' },
    ...changes,
  };
}
