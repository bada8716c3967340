import { Context } from '@temporalio/activity';
import { type Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, type Worker } from '@temporalio/worker';

import type { Activities, JudgementInput } from '../../src/activities/activities.ts';
import { lockActivities } from '../../src/activities/deployment/lockActivities.ts';
import { RequestRates } from '../../src/activities/deployment/requestRates.ts';
import { revisionPollerActivities } from '../../src/activities/deployment/revisionPoller.ts';
import { hookActivities } from '../../src/activities/hooks/hookActivities.ts';
import { pausesUntil, pollsUntilShutdown } from '../../src/activities/polling.ts';
import { previewActivities } from '../../src/activities/preview/previewActivities.ts';
import { promotionActivities } from '../../src/activities/promotion/promotionActivities.ts';
import { type Place, placesOf } from '../../src/activities/promotion/places.ts';
import { recoveryActivities } from '../../src/activities/target/recoveryActivities.ts';
import { watchActivities } from '../../src/activities/target/watchActivities.ts';
import { track } from '../../src/activities/track.ts';
import { memoryStore } from '../../src/artifact/memoryStore.ts';
import { shortArtifact } from '../../src/domain/artifact/artifact.ts';
import type { PlaceRules } from '../../src/domain/promotion/places.ts';
import type { KnownRevision } from '../../src/domain/release/release.ts';
import type { TargetSpec } from '../../src/domain/target/targetSpec.ts';
import { addHistory, EMPTY_TARGET, type TargetState } from '../../src/domain/target/targetState.ts';
import type { TargetInput } from '../../src/messages/workflowTypes.ts';
import { askAgain } from '../../src/temporal/client/askAgain.ts';
import { createClient } from '../../src/temporal/client/connection.ts';
import { createWorkers, measureSinks, UninterruptedWorker } from '../../src/temporal/createWorkers.ts';
import { ScriptedJudge } from './judge/scriptedJudge.ts';
import type { RecordedHistory } from './recordedHistory.ts';
import { GREETS, identity } from './requests.ts';
import { openSlowLine } from './slowLine.ts';
import { IDENTITY, TargetUnderTest } from './targetUnderTest.ts';
import { type WatchInput, World } from './world.ts';
import { type ActivityName, WORLD_ACTIVITIES } from './worldActivities.ts';

export interface Harness {
  /** A client of the Temporal of its workers. */
  readonly client: Client;
  readonly taskQueue: string;
  readonly targets: readonly TargetUnderTest[];
  readonly judge: ScriptedJudge;
  newTarget(input?: TargetInput): TargetUnderTest;
  /** A target in an existing world, if given under another spelling of its address. */
  newTargetIn(world: World, input: TargetInput, spelling?: string): TargetUnderTest;
  /** Releases a target that is not needed any more. */
  forget(target: TargetUnderTest): void;
  /** A target that has continued as new, and serves one verified revision. */
  newServingTarget(input?: TargetInput): {
    readonly target: TargetUnderTest;
    readonly good: string;
    readonly world: World;
  };
  /** A target that has just released these artifacts, and then continued as new; its revisions. The last one serves. */
  readonly newReleasedTarget: <const A extends readonly string[]>(
    ...artifacts: A
  ) => Promise<ReleasedTarget<A>>;
  close(): Promise<void>;
}

type ReleasedTarget<A extends readonly string[]> = readonly [TargetUnderTest, ...{ [K in keyof A]: string }];

export interface WorkerMode {
  /** 0: each workflow is rebuilt from its history at each task. Default: the SDK's. */
  readonly maxCachedWorkflows?: number;
  /** Workers on the task queue. Default: 1. One without a cache takes one workflow task at a time. */
  readonly workers?: number;
  /** How late the server gets what the workers send, in milliseconds. Default: at once. */
  readonly delayMs?: number;
}

export async function openHarness(
  options: WorkerMode & {
    readonly address: string;
    /** `null`: the workers run only activities. */
    readonly workflowBundle: string | null;
    readonly taskQueue: string;
    /** Names the worlds. Two harnesses on one server must use different names. */
    readonly nameWorld: (number: number) => string;
    /** How many promotions run at once. Default: all. */
    readonly places?: PlaceRules;
    /** How many activities each worker runs at once. Default: the SDK's. */
    readonly slots?: number;
  },
): Promise<Harness> {
  const { address, workflowBundle, taskQueue, maxCachedWorkflows, workers = 1, nameWorld, delayMs } = options;
  installRuntime();
  const clientConnection = await Connection.connect({ address });
  const client = createClient(clientConnection, 'default', { identity: IDENTITY });
  const targets: TargetUnderTest[] = [];
  const judge = new ScriptedJudge();
  // Two workers of one task queue cannot share a connection.
  const line = delayMs === undefined ? undefined : await openSlowLine(address, delayMs);
  const connections = await Promise.all(
    Array.from({ length: workers }, () => NativeConnection.connect({ address: line?.address ?? address })),
  );
  const create = (connection: NativeConnection): Promise<readonly Worker[]> =>
    createWorkers({
      connection,
      taskQueue,
      identity: IDENTITY,
      ...(workflowBundle === null ? {} : { workflowBundle: { codePath: workflowBundle } }),
      activities: dispatch(targets, judge, options.places ?? { atOnce: 0, apartMs: 0 }, taskQueue),
      interceptors: { client: { workflow: [askAgain(connection.workflowService, 'default')] } },
      ...(maxCachedWorkflows === undefined ? {} : { maxCachedWorkflows }),
      ...(options.slots === undefined ? {} : { maxConcurrentActivityTaskExecutions: options.slots }),
      // Tasks wait on the server, so that another worker can take them.
      ...(maxCachedWorkflows === 0
        ? { maxConcurrentWorkflowTaskExecutions: 1, maxConcurrentWorkflowTaskPolls: 1 }
        : {}),
    });
  const all = (await Promise.all(connections.map(create))).flat();
  const running = all.map((worker) => worker.run());
  const add = (world: World, input: TargetInput, spelling?: string): TargetUnderTest => {
    const target = new TargetUnderTest(client, taskQueue, world, input, spelling);
    targets.push(target);
    return target;
  };
  let worlds = 0;
  const newWorld = (): World => new World(nameWorld(++worlds));
  return {
    client,
    taskQueue,
    targets,
    judge,
    newTarget: (input = {}) => add(newWorld(), input),
    newTargetIn: add,
    forget: (target) => {
      const index = targets.indexOf(target);
      if (index !== -1) targets.splice(index, 1);
    },
    newServingTarget: (input = {}) => {
      const world = newWorld();
      const good = world.madeElsewhere('agent');
      const checks = world.keep([GREETS]);
      const known = [{ revisionId: good, verified: true, checks, at: '2026-01-01T00:00:00.000Z' }];
      const state = { ...EMPTY_TARGET, known, activeRevisionId: good };
      return { target: add(world, { state, ...input }), good, world };
    },
    newReleasedTarget: (async (...artifacts: readonly string[]) => {
      const target = add(newWorld(), {});
      target.world.controlPlane.addDeployment('agent');
      const state = artifacts.reduce((before, name) => afterRelease(target, before, name), EMPTY_TARGET);
      target.startWith({ state });
      await target.startOnly();
      await target.idle();
      return [target, ...state.known.map(({ revisionId }) => revisionId)];
    }) as Harness['newReleasedTarget'],
    close: async () => {
      for (const { world } of targets) world.close();
      for (const worker of all) worker.shutdown();
      await Promise.all(running);
      await clientConnection.close();
      await Promise.all(connections.map((connection) => connection.close()));
      line?.close();
    },
  };
}

/** The state of a target that has just released an artifact, whose revision serves in its world. */
function afterRelease(target: TargetUnderTest, before: TargetState, name: string): TargetState {
  const { world } = target;
  const request = target.request(name);
  const artifact = identity(name);
  const revisionId = world.patchElsewhere(artifact);
  world.bringUp(revisionId);
  const [commit, at] = ['c0ffee1', new Date().toISOString()];
  const known: KnownRevision = {
    revisionId,
    verified: true,
    artifact,
    release: `release-${before.nextNumber}`,
    commit,
    replaced: before.activeRevisionId ?? undefined,
    upload: `uploads/${artifact}`,
    checks: world.keep([GREETS]),
    at,
  };
  const released: TargetState = {
    ...before,
    spec: request.target,
    lastGood: request.target,
    lastRequest: request,
    nextNumber: before.nextNumber + 1,
    known: [...before.known, known],
    activeRevisionId: revisionId,
  };
  return addHistory(released, {
    releaseId: `release-${before.nextNumber}`,
    kind: 'release',
    artifact: shortArtifact(artifact),
    commit,
    outcome: 'released',
    reason: '',
    revisionId,
    servingRevisionId: revisionId,
    requestedBy: request.requestedBy,
    requestKey: request.requestKey,
    endedAt: at,
    rollbackRequestIds: [],
  });
}

/** Picks the histories to replay: of reset runs, and one in an odd number, because targets and releases alternate. */
export function replayedEachTime(histories: readonly RecordedHistory[]): readonly RecordedHistory[] {
  return histories.filter(
    ({ history: { events = [] } }, index) =>
      index % 5 === 0 ||
      events?.some(({ workflowTaskFailedEventAttributes: failed }) => Boolean(failed?.newRunId)),
  );
}

export async function replayFailures(
  workflowBundle: string,
  histories: readonly RecordedHistory[],
): Promise<string[]> {
  installRuntime();
  const failures: string[] = [];
  // A new run without a completed workflow task would make the replay wait without end.
  const begun = histories.filter(({ history }) =>
    history.events?.some((event) => isTaskCompleted(event.eventType)),
  );
  const results = UninterruptedWorker.runReplayHistories(
    { workflowBundle: { codePath: workflowBundle }, sinks: measureSinks() },
    begun,
  );
  for await (const { workflowId, error } of results) {
    if (error !== undefined) failures.push(`${workflowId}: ${error.name}: ${error.message}`);
  }
  return failures;
}

/** In the server's format, or as JSON. */
function isTaskCompleted(eventType: unknown): boolean {
  return eventType === 'EVENT_TYPE_WORKFLOW_TASK_COMPLETED' || eventType === WORKFLOW_TASK_COMPLETED;
}

/** `temporal.api.enums.v1.EventType` */
const WORKFLOW_TASK_COMPLETED = 7;

/** The native library can be installed only once. If another file has done so, this does nothing. */
function installRuntime(): void {
  if (Runtime._instance === undefined) Runtime.install({ logger: new DefaultLogger('ERROR') });
}

/** Activities that find the world of each call by the addresses in it, else in the calling workflow's id. */
function dispatch(
  targets: readonly TargetUnderTest[],
  judge: ScriptedJudge,
  places: PlaceRules,
  taskQueue: string,
): Activities {
  /** The world of an address, in any spelling. */
  const worldAt = (place: string): World => {
    const { hostname, pathname, href } = new URL(place);
    const id = hostname.replace(/\.test$/, '') || pathname.slice(pathname.lastIndexOf('/') + 1);
    const world = targets.find((target) => target.world.id === id)?.world;
    if (world === undefined) throw new Error(`there is no world at ${href}`);
    return world;
  };
  const call = (activity: ActivityName) => (input: WorldInput) => {
    const place = input.target?.controlPlane ?? input.store ?? addressIn(input.notice?.targetId);
    return worldAt(place ?? callingTarget()).call(activity, input);
  };
  const inWorlds = Object.fromEntries(WORLD_ACTIVITIES.map((name) => [name, call(name)])) as unknown as Pick<
    Activities,
    ActivityName
  >;
  return { ...inWorlds, ...betweenWorlds(inWorlds, worldAt, judge, placesOf(places, taskQueue)) };
}

/** How long an attempt of a poller lasts, instead of five minutes. */
const POLL_ATTEMPT_MS = 1_000;

/** A promotion's real activities, except for calls to control planes and agents. */
function betweenWorlds(
  inWorlds: Pick<Activities, ActivityName>,
  worldAt: (place: string) => World,
  judge: ScriptedJudge,
  place: Place,
) {
  const never = new AbortController().signal;
  const pause = pausesUntil(never);
  const neverShutDown = pollsUntilShutdown(never, pause);
  const polled = { controlPlane: ({ controlPlane }: TargetSpec) => worldAt(controlPlane).polled };
  const { watchRevision } = watchActivities(inWorlds);
  const openStore = (store: string) => memoryStore(worldAt(store).kept);
  const promotions = promotionActivities(inWorlds, neverShutDown, place, openStore);
  const hooks = hookActivities();
  const recovery = recoveryActivities(openStore, neverShutDown);
  return track({
    ...promotions,
    ...revisionPollerActivities(polled, new RequestRates(), () => pause(POLL_ATTEMPT_MS), never),
    submitToTarget: (input: Parameters<typeof promotions.submitToTarget>[0]) =>
      worldAt(input.request.target.controlPlane).faulty('submitToTarget', () =>
        promotions.submitToTarget(input),
      ),
    rollBackTarget: (input: Parameters<typeof promotions.rollBackTarget>[0]) =>
      worldAt(input.target.controlPlane).faulty('rollBackTarget', () => promotions.rollBackTarget(input)),
    watchRevision: (input: WatchInput) => worldAt(input.target.controlPlane).watch(input, watchRevision),
    judgeCandidate: (input: JudgementInput) => judge.judgeCandidate(input),
    ...lockActivities(),
    ...hooks,
    carryOutOrder: (input: Parameters<typeof hooks.carryOutOrder>[0]) =>
      worldAt(addressIn(input.order.workflowId) ?? '').faulty('carryOutOrder', () =>
        hooks.carryOutOrder(input),
      ),
    ...previewActivities(),
    ...recovery,
    recallTarget: (input: Parameters<typeof recovery.recallTarget>[0]) =>
      worldAt(callingTarget()).faulty('recallTarget', () => recovery.recallTarget(input)),
    findArtifact: () => Promise.resolve({ sizeBytes: 1_234 }),
    recordPromotion: () => Promise.resolve({ location: 'a record' }),
  });
}

/** The parts of an activity's input that identify its world. */
interface WorldInput {
  readonly target?: { readonly controlPlane: string };
  readonly store?: string;
  readonly notice?: { readonly targetId: string };
}

function callingTarget(): string {
  return addressIn(Context.current().info.workflowExecution?.workflowId) ?? '';
}

function addressIn(workflowId: string | undefined): string | undefined {
  return /http:\/\/[^:]+/.exec(workflowId ?? '')?.[0];
}
