import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';

import { type Activities } from '../../src/activities/activities.ts';
import { EMPTY_TARGET } from '../../src/domain/targetState.ts';
import { type TargetInput } from '../../src/workflows/messages.ts';
import { IDENTITY, type RecordedHistory, TargetUnderTest } from './targetUnderTest.ts';
import { type ActivityName, World } from './world.ts';

/** One worker, whose activities are those of each test's own world. */
export interface Harness {
  readonly targets: readonly TargetUnderTest[];
  /** A fresh target in a fresh world, with nothing deployed. */
  newTarget(input?: TargetInput): TargetUnderTest;
  /** A target that has carried on for a while, with one verified revision that serves. */
  newServingTarget(input?: TargetInput): { readonly target: TargetUnderTest; readonly good: string };
  /** Ends the worker. */
  close(): Promise<void>;
}

/** Starts a worker on a task queue of its own. */
export async function openHarness(options: {
  readonly address: string;
  readonly workflowBundle: string;
  readonly taskQueue: string;
  readonly maxCachedWorkflows?: number;
  /** Names the worlds, which no two harnesses on one server may share. */
  readonly nameWorld: (number: number) => string;
}): Promise<Harness> {
  const { address, workflowBundle, taskQueue, maxCachedWorkflows, nameWorld } = options;
  installRuntime();
  const connection = await NativeConnection.connect({ address });
  const clientConnection = await Connection.connect({ address });
  const client = new Client({ connection: clientConnection, identity: IDENTITY });
  const targets: TargetUnderTest[] = [];
  const worker = await Worker.create({
    connection,
    taskQueue,
    identity: IDENTITY,
    workflowBundle: { codePath: workflowBundle },
    activities: dispatch(targets),
    ...(maxCachedWorkflows === undefined ? {} : { maxCachedWorkflows }),
  });
  const running = worker.run();
  const add = (world: World, input: TargetInput): TargetUnderTest => {
    const target = new TargetUnderTest(client, taskQueue, world, input);
    targets.push(target);
    return target;
  };
  const newWorld = (): World => new World(nameWorld(targets.length + 1));
  return {
    targets,
    newTarget: (input = {}) => add(newWorld(), input),
    newServingTarget: (input = {}) => {
      const world = newWorld();
      const good = world.madeElsewhere('agent');
      const known = [{ revisionId: good, verified: true, at: '2026-01-01T00:00:00.000Z' }];
      const state = { ...EMPTY_TARGET, known, activeRevisionId: good };
      return { target: add(world, { state, ...input }), good };
    },
    close: async () => {
      for (const { world } of targets) world.close();
      worker.shutdown();
      await running;
      await clientConnection.close();
      await connection.close();
    },
  };
}

/** Replays histories; what does not replay, and why. */
export async function replayFailures(
  workflowBundle: string,
  histories: readonly RecordedHistory[],
): Promise<string[]> {
  installRuntime();
  const failures: string[] = [];
  // A run that has only just begun has decided nothing yet, and would be waited for without end.
  const begun = histories.filter(({ history }) =>
    history.events?.some((event) => isTaskCompleted(event.eventType)),
  );
  const results = Worker.runReplayHistories({ workflowBundle: { codePath: workflowBundle } }, begun);
  for await (const { workflowId, error } of results) {
    if (error !== undefined) failures.push(`${workflowId}: ${error.message}`);
  }
  return failures;
}

/** As the server sends it, and as JSON has it. */
function isTaskCompleted(eventType: unknown): boolean {
  return eventType === 'EVENT_TYPE_WORKFLOW_TASK_COMPLETED' || eventType === WORKFLOW_TASK_COMPLETED;
}

/** `temporal.api.enums.v1.EventType` */
const WORKFLOW_TASK_COMPLETED = 7;

/** The native library's only setting here; whoever starts it first has set it already. */
function installRuntime(): void {
  if (Runtime._instance === undefined) Runtime.install({ logger: new DefaultLogger('ERROR') });
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
function dispatch(targets: readonly TargetUnderTest[]): Activities {
  const call = (activity: ActivityName) => (input: { target?: { controlPlane: string }; store?: string }) => {
    const host = new URL(input.target?.controlPlane ?? input.store ?? '');
    const id = host.hostname.replace(/\.test$/, '') || host.pathname.slice(1);
    const world = targets.find((target) => target.world.id === id)?.world;
    if (world === undefined) throw new Error(`there is no world at ${host.href}`);
    return world.call(activity, input);
  };
  return Object.fromEntries(ACTIVITIES.map((name) => [name, call(name)])) as unknown as Activities;
}
