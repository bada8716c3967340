import { randomUUID } from 'node:crypto';

import {
  type Client,
  WithStartWorkflowOperation,
  WorkflowFailedError,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client';

import type { InterventionAnswer, InterventionKind } from '../../src/domain/intervention/intervention.ts';
import type {
  Progress,
  ReleaseRequest,
  ReleaseResult,
  StepRecord,
  Waiting,
} from '../../src/domain/release/release.ts';
import type { HistoryRow, ReleaseAnswer, RollbackAnswer } from '../../src/domain/target/targetState.ts';
import { workflowResult } from '../../src/domain/workflowResult.ts';
import { revisionPollerId } from '../../src/activities/deployment/revisionPoller.ts';
import { INTERVENTION_UPDATES, type InterventionMessage, progressQuery } from '../../src/messages/release.ts';
import {
  type HoldMessage,
  holdUpdate,
  lookupQuery,
  type RollbackMessage,
  rollbackUpdate,
  submitReleaseUpdate,
  type TargetView,
  viewQuery,
} from '../../src/messages/target.ts';
import { type TargetInput, WORKFLOW_TASK_TIMEOUT_MS } from '../../src/messages/workflowTypes.ts';
import { continuedRunId, historiesOf, type HistoryEvent, type RecordedHistory } from './recordedHistory.ts';
import { releaseRequest } from './requests.ts';
import { seen } from './seen.ts';
import type { World } from './world.ts';
import type { ActivityName } from './worldActivities.ts';

/** The client identity of all test messages: the same on every machine, because stored histories contain it. */
export const IDENTITY = 'slipway-test';

const POLL_MS = 30_000;
const PLACES = { first: 0, middle: 0.5, last: 1 };

export class TargetUnderTest {
  readonly world: World;
  readonly workflowId: string;
  /** Whether it was started without a message. */
  isStarted = false;
  readonly #client: Client;
  readonly #taskQueue: string;
  #input: TargetInput;
  readonly #spelling: string;
  readonly #children = new Set<string>();

  /** @param spelling - a suffix of the control plane's address, which still leads to the same control plane. */
  constructor(client: Client, taskQueue: string, world: World, input: TargetInput, spelling = '') {
    this.#client = client;
    this.#taskQueue = taskQueue;
    this.#input = input;
    this.#spelling = spelling;
    this.world = world;
    this.workflowId = `target:http://${world.id}.test${spelling}:agent`;
  }

  startWith(input: TargetInput): void {
    this.#input = input;
  }

  get handle(): WorkflowHandle {
    return this.#client.workflow.getHandle(this.workflowId);
  }

  workflow(workflowId: string): WorkflowHandle {
    return this.#client.workflow.getHandle(workflowId);
  }

  /** A request for this target. Artifacts are given by one letter. */
  request(artifact: string, changes: Partial<ReleaseRequest> = {}): ReleaseRequest {
    const request = releaseRequest(this.world.id, artifact, changes);
    const controlPlane = `${request.target.controlPlane}${this.#spelling}`;
    return { ...request, target: { ...request.target, controlPlane } };
  }

  /**
   * Submits a release, and starts the target if it does not run.
   * @param submission - the submission's id. Default: a new one.
   */
  async submit(
    artifact: string | ReleaseRequest,
    changes: Partial<ReleaseRequest> = {},
    submission?: string,
  ): Promise<ReleaseAnswer> {
    const request = typeof artifact === 'string' ? this.request(artifact, changes) : artifact;
    const answer = await this.#client.workflow.executeUpdateWithStart(submitReleaseUpdate, {
      startWorkflowOperation: new WithStartWorkflowOperation('target', {
        workflowId: this.workflowId,
        taskQueue: this.#taskQueue,
        args: [{ recordStore: request.recordStore, ...this.#input }],
        workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
        workflowIdConflictPolicy: 'USE_EXISTING',
      }),
      args: [request],
      updateId: submission,
    });
    this.#children.add(answer.releaseId);
    return answer;
  }

  async startOnly(): Promise<void> {
    this.isStarted = true;
    await this.#client.workflow.start('target', {
      workflowId: this.workflowId,
      taskQueue: this.#taskQueue,
      args: [this.#input],
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
    });
  }

  /** Starts the target on another task queue, which only other workers serve. */
  async startElsewhere(taskQueue: string): Promise<void> {
    const { workflowService: service } = this.#client;
    const common = { namespace: 'default', identity: IDENTITY };
    const { workflowId } = this;
    await this.#client.workflow.start('target', { workflowId, taskQueue, args: [this.#input] });
    const { taskToken } = await this.#client.withDeadline(Date.now() + POLL_MS, () =>
      service.pollWorkflowTaskQueue({ ...common, taskQueue: { name: taskQueue } }),
    );
    await service.respondWorkflowTaskCompleted({ ...common, taskToken, commands: [] });
  }

  async release(
    artifact: string | ReleaseRequest,
    changes: Partial<ReleaseRequest> = {},
  ): Promise<ReleaseResult> {
    return this.result((await this.submit(artifact, changes)).releaseId);
  }

  rollback(message: RollbackMessage = {}): Promise<RollbackAnswer> {
    return this.handle.executeUpdate(rollbackUpdate, { args: [message] });
  }

  say(
    releaseId: string,
    kind: InterventionKind,
    message: InterventionMessage = {},
  ): Promise<InterventionAnswer> {
    return this.child(releaseId).executeUpdate(INTERVENTION_UPDATES[kind], { args: [message] });
  }

  async progressOnce(releaseId: string, shows: (progress: Progress) => boolean): Promise<Progress> {
    const release = this.child(releaseId);
    return seen(release, async () => {
      const progress = await release.query(progressQuery);
      return shows(progress) ? progress : undefined;
    });
  }

  waitsFor(releaseId: string, what: Waiting['for']): Promise<Progress> {
    return this.progressOnce(releaseId, ({ waiting }) => waiting?.for === what);
  }

  signal(name: string, ...args: unknown[]): Promise<void> {
    return this.handle.signal(name, ...args);
  }

  /** Sends a signal with any bytes as payload, in any encoding, to the target or to another workflow. */
  async signalRaw(
    signalName: string,
    encoding: string,
    data: string,
    workflowId = this.workflowId,
  ): Promise<void> {
    const payload = { metadata: { encoding: Buffer.from(encoding) }, data: Buffer.from(data) };
    await this.#client.workflowService.signalWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId },
      signalName,
      input: { payloads: [payload] },
      identity: IDENTITY,
    });
  }

  /** The result of a release or rollback, once it has ended and the target has received it. */
  async result(releaseId: string): Promise<ReleaseResult> {
    const row = await this.ended(releaseId);
    return workflowResult(this.child(row.releaseId));
  }

  /** The history row of a release, or of the rollback for a request. */
  async ended(id: string): Promise<HistoryRow> {
    return seen(this.handle, async () => {
      const found = await this.handle.query(lookupQuery, id);
      // The server reports a workflow's end without a query, which would cost the worker a turn.
      if (found?.state === 'running') await this.#closed(found.releaseId);
      return found?.state === 'ended' ? found.row : undefined;
    });
  }

  /** Waits until a release or rollback has ended with any outcome. */
  async #closed(releaseId: string): Promise<void> {
    try {
      await this.child(releaseId).result();
    } catch (error) {
      if (!(error instanceof WorkflowFailedError) && !(error instanceof WorkflowNotFoundError)) throw error;
    }
  }

  child(releaseId: string): WorkflowHandle {
    this.#children.add(releaseId);
    return this.#client.workflow.getHandle(`${this.workflowId}/${releaseId}`);
  }

  async view(): Promise<TargetView> {
    return this.handle.query(viewQuery);
  }

  async viewOnce(shows: (view: TargetView) => boolean): Promise<TargetView> {
    return seen(this.handle, async () => {
      const view = await this.view();
      return shows(view) ? view : undefined;
    });
  }

  async idle(): Promise<TargetView> {
    return this.viewOnce(
      ({ state, running }) => running === null && state.queue.length === 0 && state.rollbacks.length === 0,
    );
  }

  async steps(releaseId: string): Promise<readonly StepRecord[]> {
    return (await this.child(releaseId).query(progressQuery)).steps;
  }

  async runEvents(): Promise<number> {
    return (await this.handle.describe()).historyLength;
  }

  async runCount(): Promise<number> {
    return (await historiesOf(this.#client, this.workflowId)).length;
  }

  /**
   * Makes a target continue as new, by updates that change nothing (a hold, again). Endless signals would prevent it.
   */
  async carriedOn(by: HoldMessage): Promise<void> {
    while ((await this.runCount()) < 2) await this.handle.executeUpdate(holdUpdate, { args: [by] });
  }

  async histories(): Promise<RecordedHistory[]> {
    const own = await this.#ownHistories();
    const started = new Map(
      own
        .flatMap(({ history }) => history.events ?? [])
        .map((event) => event.childWorkflowExecutionStartedEventAttributes?.workflowExecution)
        .flatMap((child) => (child?.runId == null ? [] : [[child.runId, child.workflowId ?? ''] as const])),
    );
    const children = [...started].map(async ([runId, workflowId]): Promise<RecordedHistory> => {
      const history = await this.#client.workflow.getHandle(workflowId, runId).fetchHistory();
      return { workflowId, history };
    });
    return [...own, ...(await Promise.all(children))];
  }

  /** The histories of its control plane's poller, once no release waits there. */
  async pollerHistories(): Promise<RecordedHistory[]> {
    await this.poller.result();
    return historiesOf(this.#client, this.poller.workflowId);
  }

  get poller(): WorkflowHandle {
    const { latest } = this.world;
    return this.workflow(revisionPollerId(this.request('a').target, this.#taskQueue, latest ?? ''));
  }

  lockHistories(): Promise<RecordedHistory[]> {
    return historiesOf(this.#client, `deployment:${this.world.deployment?.id ?? ''}`);
  }

  /** Whether the target or a release has an unhandled event, so that an answer may be outdated. */
  async isBehind(releaseId?: string): Promise<boolean> {
    const { raw } = await (releaseId === undefined ? this.handle : this.child(releaseId)).describe();
    return raw.pendingWorkflowTask != null;
  }

  /** Sends the next workflow task of the target, or of a release, to any worker, without the cached workflow. */
  async loseWorker(releaseId?: string): Promise<void> {
    const workflowId = releaseId === undefined ? this.workflowId : `${this.workflowId}/${releaseId}`;
    const execution = { workflowId };
    await this.#client.workflowService.resetStickyTaskQueue({ namespace: 'default', execution });
  }

  /**
   * Resets the newest run of the target or of a release, like `temporal workflow reset`.
   * @param to - to the first, the middle or the last one of the workflow tasks that it completed.
   */
  async reset(to: 'first' | 'middle' | 'last', releaseId?: string): Promise<void> {
    const workflowId = releaseId === undefined ? this.workflowId : `${this.workflowId}/${releaseId}`;
    const { runId } = await this.#client.workflow.getHandle(workflowId).describe();
    const run = this.#client.workflow.getHandle(workflowId, runId);
    const completedTasks = async () =>
      ((await run.fetchHistory()).events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes);
    let completed = await completedTasks();
    // A new run cannot be reset before its first task has ended.
    while (completed.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      completed = await completedTasks();
    }
    await this.resetTo(completed.at(PLACES[to] * (completed.length - 1))?.eventId, { workflowId, runId });
  }

  /** Resets the newest run of the target, or another workflow, to a workflow task: the event of its completion. */
  async resetTo(
    task: HistoryEvent['eventId'] | undefined,
    workflowExecution: { workflowId: string; runId?: string } = { workflowId: this.workflowId },
  ): Promise<void> {
    await this.#client.workflowService.resetWorkflowExecution({
      namespace: 'default',
      workflowExecution,
      reason: 'by hand',
      requestId: randomUUID(),
      workflowTaskFinishEventId: task ?? null,
    });
  }

  /** Deletes the target's runs in Temporal, as at the end of their retention. */
  async forget(): Promise<void> {
    for (const { runId } of await this.runs()) {
      await this.#client.workflowService.deleteWorkflowExecution({
        namespace: 'default',
        workflowExecution: { workflowId: this.workflowId, runId },
      });
    }
    // The server deletes them a few seconds later.
    while ((await this.runs()).length > 0) await new Promise((resolve) => setTimeout(resolve, 250));
  }

  /** The histories of all runs, whether they continued an earlier one or not. */
  async #ownHistories(): Promise<RecordedHistory[]> {
    const chain = await historiesOf(this.#client, this.workflowId);
    const known = new Set(chain.flatMap(({ history }) => continuedRunId(history) ?? []));
    known.add((await this.handle.describe()).runId);
    const ended = (await this.runs()).filter(({ runId }) => !known.has(runId));
    const others = ended.map(async ({ runId }): Promise<RecordedHistory> => {
      const history = await this.#client.workflow.getHandle(this.workflowId, runId).fetchHistory();
      return { workflowId: this.workflowId, history };
    });
    return [...chain, ...(await Promise.all(others))];
  }

  async runs(): Promise<{ readonly runId: string }[]> {
    const query = `WorkflowId = ${JSON.stringify(this.workflowId)}`;
    const runs: { readonly runId: string }[] = [];
    for await (const { runId } of this.#client.workflow.list({ query })) runs.push({ runId });
    return runs;
  }

  /** The target's releases and rollbacks that match a list query, once there is one: Temporal's list is delayed. */
  async listedOnce(query: string): Promise<string[]> {
    const own = `${query} AND WorkflowId STARTS_WITH ${JSON.stringify(`${this.workflowId}/`)}`;
    for (;;) {
      const listed: string[] = [];
      for await (const { workflowId } of this.#client.workflow.list({ query: own })) listed.push(workflowId);
      if (listed.length > 0) return listed;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Fails an activity of a running release without details, like `temporal activity fail`. */
  async failActivity(releaseId: string, name: ActivityName): Promise<void> {
    const activityId = await this.#pendingActivity(releaseId, name);
    const { workflowId } = this.child(releaseId);
    await this.#client.activity.fail({ workflowId, activityId }, new Error('failed by hand'));
  }

  /** Resets an activity of a running release, like `temporal activity reset`. */
  async resetActivity(releaseId: string, name: ActivityName): Promise<void> {
    const id = await this.#pendingActivity(releaseId, name);
    const { workflowId } = this.child(releaseId);
    await this.#client.workflowService.resetActivity({
      namespace: 'default',
      execution: { workflowId },
      id,
      identity: IDENTITY,
    });
  }

  async #pendingActivity(releaseId: string, name: ActivityName): Promise<string> {
    const { raw } = await this.child(releaseId).describe();
    const pending = raw.pendingActivities?.find(({ activityType }) => activityType?.name === name);
    return pending?.activityId ?? '';
  }

  async terminate(): Promise<void> {
    const { status } = await this.handle.describe();
    if (status.name === 'RUNNING') await this.handle.terminate('the test is over');
  }
}
