import {
  type Client,
  WithStartWorkflowOperation,
  WorkflowFailedError,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client';

import type { InterventionAnswer, InterventionKind } from '../../src/domain/intervention.ts';
import type { HoldMessage, InterventionMessage, RollbackMessage } from '../../src/domain/message.ts';
import type { Progress, ReleaseRequest, ReleaseResult, StepRecord } from '../../src/domain/release.ts';
import type { HistoryRow, ReleaseAnswer, RollbackAnswer } from '../../src/domain/targetState.ts';
import {
  holdUpdate,
  INTERVENTION_UPDATES,
  lookupQuery,
  progressQuery,
  rollbackUpdate,
  submitReleaseUpdate,
  type TargetInput,
  type TargetView,
  viewQuery,
} from '../../src/workflows/messages.ts';
import { releaseRequest } from './requests.ts';
import { seen } from './seen.ts';
import type { ActivityName, World } from './world.ts';

/** Who all messages of the tests come from: the same on every machine, since stored histories show it. */
export const IDENTITY = 'slipway-test';

/** A history to be replayed, under the workflow's id. */
export interface RecordedHistory {
  readonly workflowId: string;
  readonly history: Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
}

/** The histories of a workflow's runs, of which each but the first carries on another: the newest first. */
export async function historiesOf(client: Client, workflowId: string): Promise<RecordedHistory[]> {
  const histories: RecordedHistory[] = [];
  let runId: string | undefined;
  do {
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    histories.push({ workflowId, history });
    const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
    runId = started?.continuedExecutionRunId ?? undefined;
  } while (runId !== undefined && runId !== '');
  return histories;
}

/** One target under test, with its world. */
export class TargetUnderTest {
  readonly world: World;
  readonly workflowId: string;
  readonly #client: Client;
  readonly #taskQueue: string;
  #input: TargetInput;
  readonly #children = new Set<string>();

  constructor(client: Client, taskQueue: string, world: World, input: TargetInput) {
    this.#client = client;
    this.#taskQueue = taskQueue;
    this.#input = input;
    this.world = world;
    this.workflowId = `target:http://${world.id}.test:agent`;
  }

  /** What the target starts from, instead of what it was made with. */
  startWith(input: TargetInput): void {
    this.#input = input;
  }

  get handle(): WorkflowHandle {
    return this.#client.workflow.getHandle(this.workflowId);
  }

  /** Any workflow, by its id. */
  workflow(workflowId: string): WorkflowHandle {
    return this.#client.workflow.getHandle(workflowId);
  }

  /** A request for this target. An artifact is told by one letter. */
  request(artifact: string, changes: Partial<ReleaseRequest> = {}): ReleaseRequest {
    return releaseRequest(this.world.id, artifact, changes);
  }

  /**
   * Submits a release, and starts the target where it does not run.
   *
   * @param submission - the submission's id. Default: a fresh one.
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
        args: [this.#input],
        workflowIdConflictPolicy: 'USE_EXISTING',
      }),
      args: [request],
      ...(submission === undefined ? {} : { updateId: submission }),
    });
    this.#children.add(answer.releaseId);
    return answer;
  }

  /** Starts the target without asking anything of it. */
  async startOnly(): Promise<void> {
    await this.#client.workflow.start('target', {
      workflowId: this.workflowId,
      taskQueue: this.#taskQueue,
      args: [this.#input],
    });
  }

  /** Releases, and waits for the result. */
  async release(
    artifact: string | ReleaseRequest,
    changes: Partial<ReleaseRequest> = {},
  ): Promise<ReleaseResult> {
    return this.result((await this.submit(artifact, changes)).releaseId);
  }

  rollback(message: RollbackMessage = {}): Promise<RollbackAnswer> {
    return this.handle.executeUpdate(rollbackUpdate, { args: [message] });
  }

  /** Says something to a release under way. */
  say(
    releaseId: string,
    kind: InterventionKind,
    message: InterventionMessage = {},
  ): Promise<InterventionAnswer> {
    return this.child(releaseId).executeUpdate(INTERVENTION_UPDATES[kind], { args: [message] });
  }

  /** A release's progress once it shows something. */
  async progressOnce(releaseId: string, shows: (progress: Progress) => boolean): Promise<Progress> {
    const release = this.child(releaseId);
    return seen(release, async () => {
      const progress = await release.query(progressQuery);
      return shows(progress) ? progress : undefined;
    });
  }

  /** Sends any signal with anything in it. */
  signal(name: string, ...args: unknown[]): Promise<void> {
    return this.handle.signal(name, ...args);
  }

  /** Sends a signal whose payload is any bytes, under any encoding, to the target or to another workflow. */
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

  /** The result of a release or rollback that has run, once it has ended and the target knows. */
  async result(releaseId: string): Promise<ReleaseResult> {
    const row = await this.ended(releaseId);
    return (await this.child(row.releaseId).result()) as ReleaseResult;
  }

  /** The row in the target's history of a release, or of the rollback that a request led to. */
  async ended(id: string): Promise<HistoryRow> {
    return seen(this.handle, async () => {
      const found = await this.handle.query(lookupQuery, id);
      // The server tells when a workflow ends; a query costs the worker a turn.
      if (found?.state === 'running') await this.#closed(found.releaseId);
      return found?.state === 'ended' ? found.row : undefined;
    });
  }

  /** Waits until a release or rollback has ended, however it did. */
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

  /** The target's view once it shows something. */
  async viewOnce(shows: (view: TargetView) => boolean): Promise<TargetView> {
    return seen(this.handle, async () => {
      const view = await this.view();
      return shows(view) ? view : undefined;
    });
  }

  /** Waits until the target has nothing to do. */
  async idle(): Promise<TargetView> {
    return this.viewOnce(
      ({ state, running }) => running === null && state.queue.length === 0 && state.rollbacks.length === 0,
    );
  }

  /** A release's steps as far as they have come. */
  async steps(releaseId: string): Promise<readonly StepRecord[]> {
    return (await this.child(releaseId).query(progressQuery)).steps;
  }

  /** How many events the history of the target's newest run has. */
  async runEvents(): Promise<number> {
    return (await this.handle.describe()).historyLength;
  }

  /** How many runs the target's chain has, from its first to the one that runs now. */
  async runCount(): Promise<number> {
    return (await historiesOf(this.#client, this.workflowId)).length;
  }

  /**
   * Lets the target's history grow until it has continued as new. By updates, each of which waits for its answer: a
   * target that gets signals without end cannot. A hold upon a hold changes nothing.
   */
  async carriedOn(by: HoldMessage): Promise<void> {
    while ((await this.runCount()) < 2) await this.handle.executeUpdate(holdUpdate, { args: [by] });
  }

  /** Every history of the target and of what ran on it. */
  async histories(): Promise<RecordedHistory[]> {
    const own = await historiesOf(this.#client, this.workflowId);
    const children = own
      .flatMap(({ history }) => history.events ?? [])
      .map((event) => event.childWorkflowExecutionStartedEventAttributes?.workflowExecution)
      .map(async (started): Promise<RecordedHistory[]> => {
        if (started?.workflowId == null) return [];
        const child = this.#client.workflow.getHandle(started.workflowId, started.runId ?? undefined);
        return [{ workflowId: started.workflowId, history: await child.fetchHistory() }];
      });
    return [...own, ...(await Promise.all(children)).flat()];
  }

  /**
   * Whether something has happened to the target, or to a release, that it has not dealt with yet. A query may be
   * answered from a history that ends with such a thing, and then tells what has not been decided.
   */
  async isBehind(releaseId?: string): Promise<boolean> {
    const { raw } = await (releaseId === undefined ? this.handle : this.child(releaseId)).describe();
    return raw.pendingWorkflowTask != null;
  }

  /** Lets the next workflow task of the target, or of a release, go to any worker: the one that knew it is gone. */
  async loseWorker(releaseId?: string): Promise<void> {
    const workflowId = releaseId === undefined ? this.workflowId : `${this.workflowId}/${releaseId}`;
    const execution = { workflowId };
    await this.#client.workflowService.resetStickyTaskQueue({ namespace: 'default', execution });
  }

  /** Has an activity of a release that is under way fail, as `temporal activity fail` does: without any details. */
  async failActivity(releaseId: string, name: ActivityName): Promise<void> {
    const activityId = await this.#pendingActivity(releaseId, name);
    const { workflowId } = this.child(releaseId);
    await this.#client.activity.fail({ workflowId, activityId }, new Error('failed by hand'));
  }

  /** Resets an activity of a release that is under way, as `temporal activity reset` does. */
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

  /** Ends the target for good, where it still runs. */
  async terminate(): Promise<void> {
    const { status } = await this.handle.describe();
    if (status.name === 'RUNNING') await this.handle.terminate('the test is over');
  }
}
