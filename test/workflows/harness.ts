import { Client, Connection, WithStartWorkflowOperation, type WorkflowHandle } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

import { type Activities } from '../../src/activities/activities.ts';
import { type Check } from '../../src/domain/check.ts';
import { type RollbackMessage } from '../../src/domain/message.ts';
import {
  type Actor,
  type ReleaseRequest,
  type ReleaseResult,
  type StepRecord,
} from '../../src/domain/release.ts';
import { type StepOverrides } from '../../src/domain/step.ts';
import {
  EMPTY_TARGET,
  type HistoryRow,
  type ReleaseAnswer,
  type RollbackAnswer,
} from '../../src/domain/targetState.ts';
import {
  lookupQuery,
  progressQuery,
  rollbackUpdate,
  submitReleaseUpdate,
  type TargetInput,
  type TargetView,
  viewQuery,
} from '../../src/workflows/messages.ts';
import { type ActivityName, type Call, World } from './world.ts';

/** The ways in which every workflow test runs: with the usual cache, and rebuilt from history at each task. */
export const MODES = [
  { mode: 'with the usual cache' },
  { mode: 'without any cache', maxCachedWorkflows: 0 },
] as const;

export const ADA: Actor = { who: 'ada', from: 'test' };

/** Retries and deadlines short enough for a test. */
export const QUICK: StepOverrides = {
  find: { startToCloseMs: 5_000, scheduleToCloseMs: 5_000, retry: { initialIntervalMs: 5 } },
  create: { startToCloseMs: 5_000, scheduleToCloseMs: 5_000, retry: { initialIntervalMs: 10 } },
  baseline: { retry: { initialIntervalMs: 5, maximumAttempts: 2 } },
  upload: { retry: { initialIntervalMs: 5, maximumAttempts: 3 } },
  patch: {
    startToCloseMs: 5_000,
    scheduleToCloseMs: 5_000,
    retry: { initialIntervalMs: 10, maximumAttempts: 3 },
  },
  deployed: { heartbeatMs: 1_000, retry: { initialIntervalMs: 5 } },
  serving: { heartbeatMs: 1_000, retry: { initialIntervalMs: 5 } },
  check: { heartbeatMs: 1_000, retry: { initialIntervalMs: 5, maximumAttempts: 2 } },
  soak: { heartbeatMs: 1_000, retry: { initialIntervalMs: 5, maximumAttempts: 2 } },
  redeploy: {
    startToCloseMs: 5_000,
    scheduleToCloseMs: 5_000,
    retry: { initialIntervalMs: 10, maximumAttempts: 3 },
  },
  watch: { heartbeatMs: 1_000, retry: { initialIntervalMs: 5 } },
  record: { scheduleToCloseMs: 2_000, retry: { initialIntervalMs: 5, maximumAttempts: 2 } },
};

export const GREETS: Check = {
  name: 'greets',
  assistant: 'agent',
  input: { messages: [] },
  expect: { contains: 'hello' },
  timeoutMs: 1_000,
};

const IDENTITY = 'slipway-test';
const UPDATE_PATIENCE_MS = 5;

/** A history to be replayed, under the workflow's id. */
export interface RecordedHistory {
  readonly workflowId: string;
  readonly history: Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
}

/** One worker, whose activities are those of each test's own world. */
export interface Harness {
  readonly client: Client;
  /** A fresh target in a fresh world, with nothing deployed. */
  newTarget(input?: TargetInput): Target;
  /** A target that has carried on for a while, with one verified revision that serves. */
  newServingTarget(input?: TargetInput): { readonly target: Target; readonly good: string };
}

/**
 * Runs a file's tests once per mode. Afterwards every history that they made is replayed against the bundle: the
 * workflows' code must come to the same decisions again.
 */
export function describeWorkflows(name: string, tests: (harness: Harness) => void): void {
  describe.each(MODES)(`${name}, $mode`, (mode) => {
    const worlds = new Map<string, World>();
    const targets: Target[] = [];
    const connections: { close(): Promise<void> }[] = [];
    const taskQueue = unique('queue');
    let client: Client | undefined;
    let worker: Worker | undefined;
    let running: Promise<void> | undefined;

    beforeAll(async () => {
      installRuntime();
      const address = inject('temporalAddress');
      const connection = await NativeConnection.connect({ address });
      const clientConnection = await Connection.connect({ address });
      connections.push(connection, clientConnection);
      client = new Client({ connection: clientConnection, identity: IDENTITY });
      worker = await Worker.create({
        connection,
        taskQueue,
        identity: IDENTITY,
        workflowBundle: { codePath: inject('workflowBundle') },
        activities: dispatch(worlds),
        ...('maxCachedWorkflows' in mode ? { maxCachedWorkflows: mode.maxCachedWorkflows } : {}),
      });
      running = worker.run();
    });

    afterAll(async () => {
      for (const world of worlds.values()) world.close();
      worker?.shutdown();
      await running;
      for (const connection of connections) await connection.close();
    });

    const newWorld = (): World => {
      const world = new World(unique('world'));
      worlds.set(world.id, world);
      return world;
    };
    const harness: Harness = {
      get client() {
        if (client === undefined) throw new Error('the harness is used before it is up');
        return client;
      },
      newTarget: (input = {}) => {
        const target = new Target(harness.client, taskQueue, newWorld(), input);
        targets.push(target);
        return target;
      },
      newServingTarget: (input = {}) => {
        const world = newWorld();
        const good = world.madeElsewhere('agent');
        const known = [{ revisionId: good, verified: true, at: '2026-01-01T00:00:00.000Z' }];
        const state = { ...EMPTY_TARGET, known, activeRevisionId: good };
        const target = new Target(harness.client, taskQueue, world, { state, ...input });
        targets.push(target);
        return { target, good };
      },
    };
    describe.concurrent('tests', () => tests(harness));

    test('every history that these tests made replays', async () => {
      const histories: RecordedHistory[] = [];
      for (const target of targets) histories.push(...(await target.histories()));
      expect(histories.length).toBeGreaterThan(0);
      expect(await replayFailures(histories)).toEqual([]);
      expect(histories.filter(leavesChildBehind)).toEqual([]);
    });

    test('no two releases or rollbacks ever worked on one target at a time', async () => {
      expect([...worlds.values()].flatMap(interleavings)).toEqual([]);
      for (const target of targets) await target.terminate();
    });
  });
}

/** Whether a run continued as new while a child of it ran: that would have terminated the child. */
function leavesChildBehind({ history }: RecordedHistory): boolean {
  const events = history.events ?? [];
  if (events.at(-1)?.workflowExecutionContinuedAsNewEventAttributes == null) return false;
  const started = events.filter((event) => event.childWorkflowExecutionStartedEventAttributes != null);
  const ended = events.filter(
    (event) =>
      event.childWorkflowExecutionCompletedEventAttributes != null ||
      event.childWorkflowExecutionTerminatedEventAttributes != null,
  );
  return started.length !== ended.length;
}

/** Pairs of releases or rollbacks of one target of which the second began to call before the first had ended to. */
function interleavings({ calls }: World): string[] {
  const workers = new Map<string, Call[]>();
  for (const call of calls) {
    const { workflowId, runId } = call;
    // A target's own calls only watch.
    if (!/\/(?:release|rollback)-\d+$/.test(workflowId)) continue;
    const worker = `${workflowId} ${runId}`;
    workers.set(worker, [...(workers.get(worker) ?? []), call]);
  }
  const spans = [...workers].map(([worker, own]) => ({
    worker,
    from: own[0]?.startedAt ?? 0,
    to: own.at(-1)?.startedAt ?? 0,
  }));
  return spans
    .slice(1)
    .flatMap((span, index) =>
      (spans[index]?.to ?? 0) > span.from ? [`${spans[index]?.worker ?? ''} and ${span.worker}`] : [],
    );
}

/** Replays histories; what does not replay, and why. */
export async function replayFailures(histories: readonly RecordedHistory[]): Promise<string[]> {
  installRuntime();
  const failures: string[] = [];
  const results = Worker.runReplayHistories(
    { workflowBundle: { codePath: inject('workflowBundle') } },
    histories,
  );
  for await (const { workflowId, error } of results) {
    if (error !== undefined) failures.push(`${workflowId}: ${error.message}`);
  }
  return failures;
}

/** One target under test, with its world. */
export class Target {
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
    return {
      requestKey: `key-${artifact}`,
      target: {
        name: 'production',
        controlPlane: `http://${this.world.id}.test`,
        apiKey: { from: 'env:CONTROL_PLANE_KEY' },
        deployment: 'agent',
        source: 'internal_source',
        sourceConfig: {},
      },
      artifact: tarball(artifact),
      graphConfigPath: 'graph.json',
      checks: [GREETS],
      steps: QUICK,
      soakMs: 0,
      queue: 'latest',
      recordStore: `file:///${this.world.id}`,
      requestedBy: ADA,
      ...changes,
    };
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

/** A tarball artifact told by a short name. */
export function tarball(name: string): ReleaseRequest['artifact'] {
  const digest = `sha256:${Buffer.from(name).toString('hex').padEnd(64, '0')}`;
  return { kind: 'tarball', digest, sizeBytes: 1_234, store: 'file:///artifacts' };
}

/** The identity under which a world knows an artifact told by a short name. */
export function identity(name: string): string {
  const artifact = tarball(name);
  return artifact.kind === 'tarball' ? artifact.digest : '';
}

/** The steps of a result, in order, as people read them. */
export function stepNames(result: Pick<ReleaseResult, 'steps'>): string[] {
  return result.steps.map((step) => `${step.restoring ? 'restore ' : ''}${step.step} ${step.status}`);
}

/** Between two looks at a condition that only a query can tell. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, UPDATE_PATIENCE_MS));
}

let counter = 0;

function unique(what: string): string {
  counter++;
  return `${what}-${process.pid}-${Date.now().toString(36)}-${counter}`;
}

let installed = false;

function installRuntime(): void {
  if (!installed) Runtime.install({ logger: new DefaultLogger('ERROR') });
  installed = true;
}

const ACTIVITIES: readonly ActivityName[] = [
  'findDeployment',
  'createDeployment',
  'readDeployment',
  'readRevision',
  'listRevisions',
  'uploadArtifact',
  'patchDeployment',
  'redeployRevision',
  'awaitDeployed',
  'confirmServing',
  'runCheck',
  'awaitLateSuccess',
  'recordRelease',
];

/** Activities that find the world that a call is meant for: by its control plane's, or its record store's, address. */
function dispatch(worlds: ReadonlyMap<string, World>): Activities {
  const call = (activity: ActivityName) => (input: { target?: { controlPlane: string }; store?: string }) => {
    const host = new URL(input.target?.controlPlane ?? input.store ?? '');
    const world = worlds.get(host.hostname.replace(/\.test$/, '') || host.pathname.slice(1));
    if (world === undefined) throw new Error(`there is no world at ${host.href}`);
    return world.call(activity, input);
  };
  return Object.fromEntries(ACTIVITIES.map((name) => [name, call(name)])) as unknown as Activities;
}
