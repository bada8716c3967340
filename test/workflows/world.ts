import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';

import { ApplicationFailure, Context } from '@temporalio/activity';
import { type Agent, MockAgent } from 'undici';

import type { Activities } from '../../src/activities/activities.ts';
import { notYet } from '../../src/activities/activityFailure.ts';
import type { Outside } from '../../src/activities/connections.ts';
import { releaseActivities } from '../../src/activities/createActivities.ts';
import { guardActivities } from '../../src/activities/guard/guardActivities.ts';
import { identityActivities } from '../../src/activities/identity/identityActivities.ts';
import { pollActivities } from '../../src/activities/deployment/pollActivities.ts';
import { RequestRates } from '../../src/activities/deployment/requestRates.ts';
import type { PollUntil } from '../../src/activities/polling.ts';
import { track } from '../../src/activities/track.ts';
import { checksDigest, keepChecks, readKeptChecks } from '../../src/artifact/artifactStore.ts';
import { memoryStore } from '../../src/artifact/memoryStore.ts';
import { openArtifactStore } from '../../src/artifact/openArtifactStore.ts';
import {
  memoryAgent,
  MemoryControlPlane,
  type MemoryDeployment,
  type MemoryRevision,
} from '../../src/clients/memoryControlPlane.ts';
import { createAgent } from '../../src/clients/service.ts';
import { type Artifact, artifactIdentity } from '../../src/domain/artifact/artifact.ts';
import type { Check } from '../../src/domain/check/check.ts';
import { revisionPhase } from '../../src/domain/deployment/revision.ts';
import type { ErrorCode } from '../../src/domain/errors.ts';
import type { FailureDetail } from '../../src/domain/failure.ts';
import type { Frozen } from '../../src/domain/freeze/freeze.ts';
import type { Notice } from '../../src/domain/notify/notice.ts';
import type { ReleaseResult } from '../../src/domain/release/release.ts';
import { statementAudience } from '../../src/identity/proof.ts';
import { unproved, type Verifier } from '../../src/identity/verifier.ts';
import type { TargetSpec } from '../../src/domain/target/targetSpec.ts';

/** The activities that call a control plane, an agent, or the store. */
export type ActivityName = Exclude<
  keyof Activities,
  | 'pollRevisions'
  | 'watchRevision'
  | 'judgeCandidate'
  | 'lookAtLine'
  | 'findArtifact'
  | 'submitToTarget'
  | 'awaitRelease'
  | 'withdrawSubmission'
  | 'rollBackTarget'
  | 'holdTarget'
  | 'recordPromotion'
  | 'claimDeployment'
  | 'recallTarget'
  | 'keepTarget'
  | 'awaitWork'
  | 'lookForHook'
  | 'carryOutOrder'
  | 'endTarget'
>;

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

/** A request for a metric. Times are milliseconds since 1970. */
export interface MetricAsked {
  readonly name: string;
  readonly from: number;
  readonly until: number;
}

/** The calls that can fail. Those that are no calls to a world belong to the world of their target. */
type FaultyName = ActivityName | 'submitToTarget' | 'carryOutOrder' | 'recallTarget';

/** What happens to one call instead of, before, or after its effect. */
export type Fault = (perform: () => Promise<unknown>, world: World) => Promise<unknown>;

/** What every agent answers in addition to its greeting. */
const WORDS = ['lilac', 'aster', 'rose'];
const POLL_MS = 20;
/** The connections to the evaluators of checks, which tests start. */
const EVALUATORS = createAgent();
const ATTEMPT_MS = 2_000;

/** A control plane in memory with one deployment and its agent, in which any call can fail in any way. */
export class World {
  readonly id: string;
  readonly calls: Call[] = [];
  /** The record store of targets and releases. */
  readonly kept = new Map<string, unknown>();
  /** Verifies proofs like a worker that trusts a real issuer. `null`: there is no issuer. */
  verifier: Pick<Verifier, 'verify'> | null = null;
  /** Whether proofs are in the folder that a request names as its record store, where a page writes them. */
  proofsInFolder = false;
  readonly controlPlane: MemoryControlPlane;
  /** The notices that receivers got, in order. */
  readonly noticed: { readonly receiver: string; readonly notice: Notice }[] = [];
  /** The comments of previews, by their markers. */
  readonly comments = new Map<string, string>();
  /** Revisions, or identities of artifacts, that fail to deploy: their final status. */
  readonly broken = new Map<string, string>();
  /** Revisions, or identities of artifacts, that stay `BUILDING` until {@link World.bringUp}. */
  readonly slow = new Set<string>();
  /** Whether releases leave a pending revision to the control plane's poller at once. */
  leavesToPoller = false;
  /** Revisions, or identities of artifacts, whose checks fail. */
  readonly bad = new Set<string>();
  /** Words that only these revisions or artifacts answer, instead of {@link WORDS}. */
  readonly knownOnlyTo = new Map<string, ReadonlySet<string>>();
  /** The model's provider is down: no check passes. */
  providerIsAway = false;
  /** Addresses of agents that do not answer. */
  readonly deadAddresses = new Set<string>();
  /** References of keys that the control plane refuses. */
  readonly refusedKeys = new Set<string>();
  /** The agent's answer, unless it is a greeting. */
  answer = 'hello';
  /** The freeze that applies until it ends, whatever the request's freezes are. */
  frozen: Frozen | null = null;
  /** For how long no freeze begins after a look, in milliseconds. */
  unfrozenMs = 60_000;
  /** The datasets in its store, by their digests. */
  readonly datasets = new Map<string, string>();
  /** Called with the input of each run before the agent answers. */
  onRun: (input: unknown) => Promise<void> = () => Promise.resolve();
  /** What a metric answers: `http://metrics.test/NAME?from=…&until=…`. */
  measures: (asked: MetricAsked) => number | null = () => 0;
  /** The worker's activities in this world. */
  readonly activities: Pick<Activities, ActivityName>;
  readonly #faults = new Map<FaultyName, Fault[]>();
  readonly #tries = new Map<ActivityName, Fault[]>();
  readonly #gates = new Set<Gate>();
  readonly #proofStores = {
    openStore: (store: string) => (this.proofsInFolder ? openArtifactStore(store) : memoryStore(this.kept)),
  };
  #waiters: (() => void)[] = [];
  #deployments = 0;
  #revisions = 0;

  constructor(id: string) {
    this.id = id;
    const outside: Outside = {
      controlPlane: () => this.controlPlane.client(),
      agent: (target) => this.#agent(target),
      feedback: () => ({ submit: () => Promise.resolve() }),
      evaluators: () => EVALUATORS,
      openStore: () => this.#store(),
    };
    const plain = releaseActivities(outside, { pollUntil: polls(), lookEveryMs: POLL_MS });
    this.controlPlane = new MemoryControlPlane({
      newDeployment: () => ({
        id: `${id}-deployment${++this.#deployments === 1 ? '' : `-${this.#deployments}`}`,
        agentUrl: `http://agent.${id}.test`,
      }),
      newRevisionId: () => this.revisionId(++this.#revisions),
    });
    this.activities = track({
      ...plain,
      // While a release waits for a revision, the control plane advances it.
      awaitDeployed: (input) => {
        const advancing = polls(() => this.#advance(this.#revision(input.revisionId)));
        const taskQueue = Context.current().info.taskQueue.replace(/(-restore)?-polls$/, '');
        const poller = this.leavesToPoller ? { taskQueue, afterMs: 0, rates: new RequestRates() } : undefined;
        const now = (): Promise<number> => Promise.resolve(Date.now());
        return pollActivities(outside, advancing, now, poller).awaitDeployed(input);
      },
      lookAtFreezes: ({ at }) =>
        Promise.resolve({
          frozen: this.frozen !== null && at < this.frozen.until ? this.frozen : null,
          nextAt: at + this.unfrozenMs,
        }),
      // Without an issuer, a token is the name of a person, without a signature. Its statement is the real one.
      ...identityActivities(this.#proofStores, {
        verify: ({ token, statement: signed, at: made }, statement, at) => {
          if (this.verifier !== null)
            return this.verifier.verify({ token, statement: signed, at: made }, statement, at);
          if (signed !== statementAudience(statement)) throw unproved('the proof is one of something else');
          const proved = { issuer: 'https://issuer.test', subject: token };
          return Promise.resolve({ who: `${token}@example.com`, proved });
        },
      }),
      sendNotice: ({ receiver, notice }) => {
        this.noticed.push({ receiver: receiver.name, notice });
        return Promise.resolve({ detail: 'sent' });
      },
      ...guardActivities({ controlPlane: () => this.controlPlane.client(), metrics: () => this.#metrics() }),
      writeComment: ({ marker, body }) => {
        this.comments.set(marker, body);
        return Promise.resolve({ detail: 'written' });
      },
    });
  }

  /** The control plane for its poller. Each read advances a revision. */
  get polled(): Pick<ReturnType<MemoryControlPlane['client']>, 'getRevision'> {
    return {
      getRevision: (deploymentId, revisionId) => {
        this.#advance(this.#revision(revisionId));
        return this.controlPlane.client().getRevision(deploymentId, revisionId);
      },
    };
  }

  /** The control plane's id of its nth revision: a UUID, as in contract 000, that begins with the number. */
  revisionId(number: number): string {
    const digits = createHash('sha256').update(this.id).digest('hex');
    const parts = [digits.slice(0, 4), `4${digits.slice(4, 7)}`, `8${digits.slice(7, 10)}`];
    return [number.toString().padStart(8, '0'), ...parts, digits.slice(10, 22)].join('-');
  }

  /** A deployment that another client created, with one active revision. */
  madeElsewhere(name: string): string {
    const deployment = this.controlPlane.addDeployment(name);
    const source = { source_tarball_path: 'uploads/elsewhere' };
    const revision = { identity: 'elsewhere', source, status: 'DEPLOYED' };
    const { id } = this.controlPlane.addRevision(deployment, revision);
    deployment.activeRevisionId = id;
    return id;
  }

  /** Stores checks. @returns their digest. */
  keep(checks: readonly Check[]): string {
    void keepChecks(memoryStore(this.kept), checks);
    return checksDigest(checks);
  }

  checksOf(digest: string | undefined): Promise<readonly Check[]> {
    return readKeptChecks(memoryStore(this.kept), digest ?? '');
  }

  patchElsewhere(
    identity = 'somebody else',
    source: MemoryRevision['source'] = { source_tarball_path: `uploads/${identity}` },
  ): string {
    return this.controlPlane.addRevision(this.#existing(), { identity, source }).id;
  }

  /** Another tool redeploys a revision, which makes a copy if the control plane makes copies. @returns what serves. */
  async redeployElsewhere(revisionId: string): Promise<string> {
    await this.controlPlane.client().redeployRevision(this.#existing().id, revisionId);
    const serving = this.controlPlane.redeployMakesRevision ? (this.latest ?? '') : revisionId;
    this.bringUp(serving);
    return serving;
  }

  /** Makes a revision active, which runs the artifact of `identity`. */
  bringUp(revisionId: string, identity?: string): void {
    const revision = this.#revision(revisionId);
    revision.identity = identity ?? revision.identity;
    this.slow.delete(revisionId);
    this.slow.delete(revision.identity);
    this.controlPlane.bringUp(this.#existing().id, revisionId);
  }

  end(revisionId: string, status: string): void {
    this.#revision(revisionId).status = status;
  }

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

  /** The deployment's revisions that a PATCH of an artifact created, oldest first. */
  revisionsOf(artifact: Artifact): string[] {
    const identity = artifactIdentity(artifact);
    return (this.deployment?.revisions ?? [])
      .filter((revision) => revision.identity === identity)
      .map(({ id }) => id);
  }

  /** The deployment's revisions in the form that an audit takes. */
  get observed(): { readonly revisionId: string; readonly tarballPath: string | null }[] {
    return (this.deployment?.revisions ?? []).map(({ id, source }) => ({
      revisionId: id,
      tarballPath: source.source_tarball_path ?? null,
    }));
  }

  /** The records of releases, in the order of their first write. */
  get records(): ReleaseResult[] {
    // Names with this prefix belong to no release.
    return [...this.kept]
      .filter(([name]) => !/^[._]/.test(name))
      .map(([, record]) => record as ReleaseResult);
  }

  get deployment(): MemoryDeployment | null {
    return this.controlPlane.deployments[0] ?? null;
  }

  get latest(): string | null {
    return this.deployment?.revisions.at(-1)?.id ?? null;
  }

  get active(): string | null {
    return this.deployment?.activeRevisionId ?? null;
  }

  readDeployment(): Promise<unknown> {
    const target = { name: 'any' } as TargetSpec;
    return this.activities.readDeployment({ target, deploymentId: this.#existing().id });
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
    this.#wake();
    const carryOut = this.activities[activity] as (input: unknown) => Promise<unknown>;
    const perform = (said: unknown): Promise<unknown> =>
      trial === undefined ? carryOut(said) : trial(() => carryOut(said), this);
    const { target } = input as { target?: TargetSpec };
    const isRefused = this.refusedKeys.has(target?.apiKey.from ?? '');
    try {
      const result = (await (isRefused
        ? refuseKey(() => perform(input), this)
        : this.faulty(activity, () => perform(input)))) as object;
      // Which activities are tried locally must not depend on the machine's load.
      return { ...result, attempt, ...(isLocal && trial === undefined ? { tookMs: 0 } : {}) };
    } finally {
      call.endedAt = performance.now();
      this.#wake();
    }
  }

  /** Performs something with the next fault of its name, if there is one. */
  faulty<T>(name: FaultyName, perform: () => Promise<T>): Promise<T> {
    const fault = this.#faults.get(name)?.shift();
    return fault === undefined ? perform() : (fault(perform, this) as Promise<T>);
  }

  #agent(target: TargetSpec): ReturnType<Outside['agent']> {
    const agent = memoryAgent(() => (this.#isDead(target) ? undefined : this.#answers()));
    return {
      ...agent,
      streamStatelessRun: async (run) => {
        await this.onRun(run.input);
        return agent.streamStatelessRun(run);
      },
    };
  }

  #store(): ReturnType<Outside['openStore']> {
    const store = memoryStore(this.kept);
    return {
      ...store,
      open: (digest) => {
        const rows = this.datasets.get(digest);
        if (rows === undefined) return store.open(digest);
        const bytes = Buffer.from(rows);
        return Promise.resolve({ stream: Readable.from([bytes]), sizeBytes: bytes.length });
      },
    };
  }

  #metrics(): Agent {
    const agent = new MockAgent();
    agent.disableNetConnect();
    agent
      .get('http://metrics.test')
      .intercept({ path: () => true })
      .reply(200, ({ path }) => {
        const { pathname, searchParams } = new URL(path, 'http://metrics.test');
        const at = (name: string): number => Date.parse(searchParams.get(name) ?? '');
        return { value: this.measures({ name: pathname.slice(1), from: at('from'), until: at('until') }) };
      })
      .persist();
    return agent as unknown as Agent;
  }

  #wake(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  #isDead({ agentUrl }: TargetSpec): boolean {
    return this.deadAddresses.has(agentUrl ?? '');
  }

  /** The agent's answer: a greeting, or its failure, and all words that only the serving revision knows. */
  #answers(): string {
    const { id, identity } = this.#revision(this.active ?? '');
    const names = [id, identity];
    if (this.providerIsAway || names.some((name) => this.bad.has(name))) return 'goodbye';
    const knows = (word: string): boolean => {
      const knowing = this.knownOnlyTo.get(word);
      return knowing === undefined || names.some((name) => knowing.has(name));
    };
    return [this.answer, ...WORDS.filter(knows), ...[...this.knownOnlyTo.keys()].filter(knows)].join(' ');
  }

  #existing(): MemoryDeployment {
    if (this.deployment === null) throw failure('SLIPWAY_NOT_FOUND', { taken: false });
    return this.deployment;
  }

  #revision(revisionId: string): MemoryRevision {
    return this.controlPlane.revision(this.#existing().id, revisionId);
  }

  /** Advances a revision, as the control plane does between reads. */
  #advance(revision: MemoryRevision): void {
    const { id, identity } = revision;
    if (revisionPhase(revision.status) !== 'pending') return;
    const ending = this.broken.get(id) ?? this.broken.get(identity);
    if (this.slow.has(id) || this.slow.has(identity)) revision.status = 'BUILDING';
    else if (ending === undefined) this.bringUp(id);
    else revision.status = ending;
  }
}

const refuseKey: Fault = () =>
  Promise.reject(failure('SLIPWAY_UNAUTHORIZED', { taken: false, final: true, status: 401 }));

/** A point at which an activity waits. */
export class Gate {
  #isOpen = false;
  readonly #opened: Promise<void>;
  #resolve: () => void = () => undefined;

  constructor() {
    this.#opened = new Promise((resolve) => (this.#resolve = resolve));
  }

  open(): void {
    this.#isOpen = true;
    this.#resolve();
  }

  /** Resolves once it is open; rejects when the activity is canceled, which only heartbeats can report. */
  async passed(): Promise<void> {
    const context = Context.current();
    while (!this.#isOpen) {
      context.heartbeat();
      await Promise.race([this.#opened, context.sleep(POLL_MS)]);
    }
  }
}

/** An activity's failure, in the form of `src/domain/failure.ts`. */
export function failure(
  code: ErrorCode,
  how: { taken: boolean; final?: boolean; status?: number; retryAfterMs?: number },
): ApplicationFailure {
  const { attempt } = Context.current().info;
  const { taken: mayHaveBeenTaken, retryAfterMs, status } = how;
  const detail: FailureDetail = {
    code,
    mayHaveBeenTaken,
    attempt,
    status,
    retryAfterMs,
  };
  return ApplicationFailure.create({
    message: `the world says ${code}`,
    type: code,
    nonRetryable: how.final ?? code === 'SLIPWAY_NOT_FOUND',
    details: [detail],
    nextRetryDelay: retryAfterMs,
  });
}

/** Ends a local try without an answer, so that the activity runs through the server. */
function tryThroughServer(): ApplicationFailure {
  return notYet('SLIPWAY_STEP_TIMED_OUT', 'not within the workflow task', 0);
}

/** Polls with short intervals, with heartbeats, that hand over after a while like the real ones. */
function polls(beforeLook: () => void = () => undefined): PollUntil {
  return async (code, look) => {
    const context = Context.current();
    const until = Date.now() + ATTEMPT_MS;
    for (;;) {
      beforeLook();
      const seen = await look();
      if ('found' in seen) return seen.found;
      if (context.info.isLocal) throw tryThroughServer();
      context.heartbeat();
      if (Date.now() > until) throw notYet(code, seen.insteadOf, POLL_MS);
      await context.sleep(POLL_MS);
    }
  };
}
