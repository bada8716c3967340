import {
  type Client,
  WithStartWorkflowOperation,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client';

import { type InterventionAnswer, type InterventionKind } from '../../src/domain/intervention.ts';
import { type InterventionMessage, type RollbackMessage } from '../../src/domain/message.ts';
import {
  type Progress,
  type ReleaseRequest,
  type ReleaseResult,
  type StepRecord,
} from '../../src/domain/release.ts';
import { type HistoryRow, type ReleaseAnswer, type RollbackAnswer } from '../../src/domain/targetState.ts';
import {
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
import { type World } from './world.ts';

/** Who all messages of the tests come from: the same on every machine, since stored histories show it. */
export const IDENTITY = 'slipway-test';

/** A history to be replayed, under the workflow's id. */
export interface RecordedHistory {
  readonly workflowId: string;
  readonly history: Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
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

  /** A request for this target. An artifact is told by one letter. */
  request(artifact: string, changes: Partial<ReleaseRequest> = {}): ReleaseRequest {
    return releaseRequest(this.world.id, artifact, changes);
  }

  /** Submits a release, and starts the target where it does not run. */
  async submit(
    artifact: string | ReleaseRequest,
    changes: Partial<ReleaseRequest> = {},
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
    for (;;) {
      const progress = await this.#progress(releaseId);
      if (progress !== undefined && shows(progress)) return progress;
      await pause();
    }
  }

  /** Sends any signal with anything in it. */
  signal(name: string, ...args: unknown[]): Promise<void> {
    return this.handle.signal(name, ...args);
  }

  /** Sends a signal whose payload is any bytes, under any encoding. */
  async signalRaw(signalName: string, encoding: string, data: string): Promise<void> {
    const payload = { metadata: { encoding: Buffer.from(encoding) }, data: Buffer.from(data) };
    await this.#client.workflowService.signalWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId: this.workflowId },
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
    for (;;) {
      const found = await this.handle.query(lookupQuery, id);
      if (found?.state === 'ended') return found.row;
      await pause();
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
    for (;;) {
      const view = await this.view();
      if (shows(view)) return view;
      await pause();
    }
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

  /** `undefined` while the release is queued and has not begun. */
  async #progress(releaseId: string): Promise<Progress | undefined> {
    try {
      return await this.child(releaseId).query(progressQuery);
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw error;
    }
  }

  /** How many runs the target's chain has, from its first to the one that runs now. */
  async runCount(): Promise<number> {
    return (await this.#ownHistories()).length;
  }

  /** Every history of the target and of what ran on it. */
  async histories(): Promise<RecordedHistory[]> {
    const histories = await this.#ownHistories();
    for (const event of histories.flatMap(({ history }) => history.events ?? [])) {
      const started = event.childWorkflowExecutionStartedEventAttributes?.workflowExecution;
      if (started?.workflowId == null) continue;
      const child = this.#client.workflow.getHandle(started.workflowId, started.runId ?? undefined);
      histories.push({ workflowId: started.workflowId, history: await child.fetchHistory() });
    }
    return histories;
  }

  async #ownHistories(): Promise<RecordedHistory[]> {
    const histories: RecordedHistory[] = [];
    let runId: string | undefined;
    do {
      const history = await this.#client.workflow.getHandle(this.workflowId, runId).fetchHistory();
      histories.push({ workflowId: this.workflowId, history });
      const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
      runId = started?.continuedExecutionRunId ?? undefined;
    } while (runId !== undefined && runId !== '');
    return histories;
  }

  /** Ends the target for good, where it still runs. */
  async terminate(): Promise<void> {
    const { status } = await this.handle.describe();
    if (status.name === 'RUNNING') await this.handle.terminate('the test is over');
  }
}

/** Between two looks at a condition that only a query can tell. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
}

const LOOK_AGAIN_MS = 5;
