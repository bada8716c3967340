import { createHash } from 'node:crypto';

import { ApplicationFailure, Context } from '@temporalio/activity';

import type { Activities } from '../../src/activities/activities.ts';
import { leaveToPoller } from '../../src/activities/deployment/revisionPoller.ts';
import { checksDigest } from '../../src/artifact/artifactStore.ts';
import { type Artifact, artifactIdentity } from '../../src/domain/artifact/artifact.ts';
import { type Check, judge } from '../../src/domain/check/check.ts';
import {
  type DeploymentSnapshot,
  revisionPhase,
  type RevisionSnapshot,
} from '../../src/domain/deployment/revision.ts';
import type { ErrorCode } from '../../src/domain/errors.ts';
import type { FailureDetail } from '../../src/domain/failure.ts';
import type { Frozen } from '../../src/domain/freeze/freeze.ts';
import type { Notice } from '../../src/domain/notify/notice.ts';
import type { ReleaseResult } from '../../src/domain/release/release.ts';
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
>;

/** One call as the world saw it. Times are milliseconds of one clock. */
export interface Call {
  readonly activity: ActivityName;
  readonly workflowId: string;
  readonly runId: string;
  readonly attempt: number;
  readonly revisionId: string | undefined;
  readonly startedAt: number;
  endedAt: number | undefined;
}

/** What can be made to fail: also a promotion's submission, in the world of the target that it goes to. */
type FaultyName = ActivityName | 'submitToTarget';

/** What happens to one call instead of, before, or after what it asks for. */
export type Fault = (perform: () => Promise<unknown>, world: World) => Promise<unknown>;

interface Revision {
  revisionId: string;
  status: string;
  tarballPath: string | null;
  imageUri: string | null;
  repoRef: string | null;
  /** The identity of what it runs. */
  identity: string;
}

interface Deployment {
  deploymentId: string;
  name: string;
  activeRevisionId: string | null;
  /** Oldest first. */
  revisions: Revision[];
}

/** Revisions on the newest page of the list. */
const PAGE = 50;
const POLL_MS = 20;
const ATTEMPT_MS = 2_000;

/**
 * A control plane with one deployment and its agent, in memory, as the workflows' activities see it: a PATCH makes a
 * revision, a revision that comes up becomes the active one, and any call can be made to fail in any way.
 */
export class World {
  readonly id: string;
  readonly calls: Call[] = [];
  readonly records: ReleaseResult[] = [];
  /** What targets keep in their record store. */
  readonly kept = new Map<string, unknown>();
  readonly store = {
    putRecord: (name: string, record: unknown): Promise<void> => {
      this.kept.set(name, record);
      return Promise.resolve();
    },
    getRecord: (name: string): Promise<unknown> => Promise.resolve(this.kept.get(name)),
  };
  /** What receivers were told, in order. */
  readonly told: { readonly receiver: string; readonly notice: Notice }[] = [];
  /** Revisions, or identities of artifacts, that fail to come up: the status that they end in. */
  readonly broken = new Map<string, string>();
  /** Revisions, or identities of artifacts, that stay `BUILDING` until {@link World.bringUp}. */
  readonly slow = new Set<string>();
  /** Whether releases leave a revision that is pending to the poller of the control plane at once. */
  leavesToPoller = false;
  /** Revisions, or identities of artifacts, whose checks fail. */
  readonly bad = new Set<string>();
  /** What a check's answer must contain that only these revisions, or identities of artifacts, answer. */
  readonly knownOnlyTo = new Map<string, ReadonlySet<string>>();
  /** The model's provider is away: no check passes. */
  providerIsAway = false;
  /** Agents' addresses at which nothing answers. */
  readonly deadAddresses = new Set<string>();
  /** References of keys that the control plane refuses. */
  readonly refusedKeys = new Set<string>();
  /** The checks that the store keeps, by their digest. */
  readonly keptChecks = new Map<string, readonly Check[]>();
  /** What the agent answers, where it is not a greeting. */
  answer = 'hello';
  /** What goes on in a redeploy: the same revision again, or a new one made of it. */
  redeployMakesRevision = false;
  /** Whether the control plane offers a list of revisions. */
  offersList = true;
  /** The freeze that is in force until it ends, whatever the request's freezes say. */
  frozen: Frozen | null = null;
  deployment: Deployment | null = null;
  readonly #faults = new Map<FaultyName, Fault[]>();
  readonly #gates = new Set<Gate>();
  #waiters: (() => void)[] = [];
  #numbers = { revision: 0, upload: 0 };

  constructor(id: string) {
    this.id = id;
  }

  /** The control plane's own name of its nth revision: a UUID, as contract 000 has it, that begins with the number. */
  revisionId(number: number): string {
    const digits = createHash('sha256').update(this.id).digest('hex');
    const parts = [digits.slice(0, 4), `4${digits.slice(4, 7)}`, `8${digits.slice(7, 10)}`];
    return [number.toString().padStart(8, '0'), ...parts, digits.slice(10, 22)].join('-');
  }

  /** A deployment that somebody made, with one active revision. */
  madeElsewhere(name: string): string {
    this.deployment = { deploymentId: `${this.id}-deployment`, name, activeRevisionId: null, revisions: [] };
    const { revisionId } = this.#add({ identity: 'elsewhere', status: 'DEPLOYED' });
    this.deployment.activeRevisionId = revisionId;
    return revisionId;
  }

  /** Keeps checks in the store. @returns their digest. */
  keep(checks: readonly Check[]): string {
    const digest = checksDigest(checks);
    this.keptChecks.set(digest, checks);
    return digest;
  }

  /** Somebody else's PATCH. */
  patchElsewhere(
    identity = 'somebody else',
    source: Partial<Pick<Revision, 'tarballPath' | 'imageUri' | 'repoRef'>> = {
      tarballPath: `uploads/${identity}`,
    },
  ): string {
    return this.#add({ identity, ...source }).revisionId;
  }

  /** A revision becomes active, also if no call waits for it. @param identity - of what it runs from now on. */
  bringUp(revisionId: string, identity?: string): void {
    const revision = this.#revision(revisionId);
    revision.identity = identity ?? revision.identity;
    this.slow.delete(revisionId);
    this.slow.delete(revision.identity);
    revision.status = 'DEPLOYED';
    this.#existing().activeRevisionId = revisionId;
  }

  /** A revision ends in a status. */
  end(revisionId: string, status: string): void {
    this.#revision(revisionId).status = status;
  }

  /** The faults of the next calls of an activity, in order; afterwards it works. */
  next(activity: FaultyName, ...faults: Fault[]): void {
    this.#faults.set(activity, [...(this.#faults.get(activity) ?? []), ...faults]);
  }

  /** Lets the next call of an activity wait until the gate is opened, or it is canceled. */
  gate(activity: ActivityName, after?: Fault): Gate {
    const gate = new Gate();
    this.#gates.add(gate);
    this.next(activity, async (perform, world) => {
      await gate.passed();
      return after === undefined ? perform() : after(perform, world);
    });
    return gate;
  }

  /** Ends all waiting. */
  close(): void {
    for (const gate of this.#gates) gate.open();
  }

  /** Resolves once there are so many calls of an activity. */
  async called(activity: ActivityName, times = 1): Promise<void> {
    await this.until(() => this.count(activity) >= times);
  }

  /** Resolves once a condition holds that calls bring about. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  count(activity: ActivityName): number {
    return this.calls.filter((call) => call.activity === activity).length;
  }

  /** The revisions that were redeployed, in order. */
  get redeployed(): (string | undefined)[] {
    return this.calls.filter((call) => call.activity === 'redeployRevision').map((call) => call.revisionId);
  }

  /** The revisions of the deployment that a PATCH of an artifact made, oldest first. */
  revisionsOf(artifact: Artifact): string[] {
    const identity = artifactIdentity(artifact);
    return (this.deployment?.revisions ?? [])
      .filter((revision) => revision.identity === identity)
      .map((revision) => revision.revisionId);
  }

  /** The revisions of the deployment, as an audit is told of them. */
  get observed(): { readonly revisionId: string; readonly tarballPath: string | null }[] {
    return (this.deployment?.revisions ?? []).map(({ revisionId, tarballPath }) => ({
      revisionId,
      tarballPath,
    }));
  }

  get latest(): string | null {
    return this.deployment?.revisions.at(-1)?.revisionId ?? null;
  }

  get active(): string | null {
    return this.deployment?.activeRevisionId ?? null;
  }

  /** A revision, as the control plane answers it now. */
  getRevision(revisionId: string): Revision {
    return this.#advance(this.#revision(revisionId));
  }

  /** What the activities do, in this world. */
  readonly activities: { [Name in ActivityName]: (input: never) => Promise<unknown> } = {
    findDeployment: async ({ target }: Input<'findDeployment'>) =>
      Promise.resolve({ deployment: this.deployment?.name === target.deployment ? this.#snapshot() : null }),

    createDeployment: async ({ target }: Input<'createDeployment'>) => {
      const deploymentId = `${this.id}-deployment`;
      this.deployment = { deploymentId, name: target.deployment, activeRevisionId: null, revisions: [] };
      this.#add({ identity: 'created', status: 'AWAITING_BUILD' });
      return Promise.resolve({ deployment: this.#snapshot() });
    },

    readDeployment: async () => Promise.resolve({ deployment: this.#snapshot() }),

    readRevision: async ({ revisionId }: Input<'readRevision'>) =>
      Promise.resolve({ revision: revisionSnapshot(this.#revision(revisionId)) }),

    listRevisions: async ({ since }: Input<'listRevisions'>) => {
      if (!this.offersList) return Promise.resolve({ revisions: null });
      const { revisions } = this.#existing();
      const known = revisions.findIndex(({ revisionId }) => revisionId === since);
      const listed = since === undefined ? revisions.slice(-PAGE) : revisions.slice(known + 1);
      return Promise.resolve({ revisions: listed.toReversed().map(revisionSnapshot) });
    },

    uploadArtifact: async () => {
      this.#numbers.upload++;
      return Promise.resolve({ objectPath: `uploads/${this.id}-${this.#numbers.upload}.tar.gz` });
    },

    patchDeployment: async ({ artifact, objectPath }: Input<'patchDeployment'>) => {
      this.#add({
        identity: artifactIdentity(artifact),
        tarballPath: objectPath,
        imageUri: artifact.kind === 'image' ? artifact.uri : null,
        repoRef: artifact.kind === 'git' ? artifact.ref : null,
      });
      return Promise.resolve({ deployment: this.#snapshot() });
    },

    redeployRevision: async ({ revisionId }: Input<'redeployRevision'>) => {
      const revision = this.#revision(revisionId);
      if (this.redeployMakesRevision) this.#add({ ...revision, status: 'QUEUED' });
      else revision.status = 'QUEUED';
      return Promise.resolve({ deployment: this.#snapshot() });
    },

    awaitDeployed: async (input: Input<'awaitDeployed'>) => {
      const { target, deploymentId, revisionId, since, until } = input;
      const revision = await poll('SLIPWAY_STEP_TIMED_OUT', () => {
        const seen = this.getRevision(revisionId);
        return revisionPhase(seen.status) === 'pending' && !this.leavesToPoller ? undefined : seen;
      });
      const { status } = revision;
      if (revisionPhase(status) === 'pending') {
        const taskQueue = Context.current().info.taskQueue.replace(/(-restore)?-polls$/, '');
        await leaveToPoller(target, taskQueue, { deploymentId, revisionId, status, since, until });
      }
      return { revision: revisionSnapshot(revision) };
    },

    confirmServing: async ({ target, revisionId, overtakers = [] }: Input<'confirmServing'>) => {
      await poll('SLIPWAY_NOT_SERVING', () => {
        if (this.active !== null && overtakers.includes(this.active))
          throw failure('SLIPWAY_REVISION_REPLACED', { taken: false, final: true });
        return this.active === revisionId && !this.#isDead(target) ? true : undefined;
      });
      return { agentUrl: `http://agent.${this.id}.test` };
    },

    runCheck: async ({ target, revisionId, check }: Input<'runCheck'>) => {
      if (this.active !== revisionId) throw failure('SLIPWAY_NOT_SERVING', { taken: false });
      if (this.#isDead(target)) throw failure('SLIPWAY_UNREACHABLE', { taken: false });
      const failed = !this.#passes(check, this.#revision(revisionId));
      return Promise.resolve({
        verdict: {
          check: check.name,
          revisionId,
          passed: !failed,
          reasons: failed ? ['the answer does not contain "hello": "goodbye"'] : [],
          answer: judge({}, { status: 'success', values: failed ? 'goodbye' : this.answer, latencyMs: 12 })
            .answer,
          runId: 'run',
          latencyMs: 12,
          feedbackRecorded: null,
        },
      });
    },

    askAgent: async ({ target }: Input<'askAgent'>) =>
      Promise.resolve({ silent: this.#isDead(target) ? 'the agent does not answer' : null }),

    lookAtFreezes: async ({ at }: Input<'lookAtFreezes'>) =>
      Promise.resolve({ frozen: this.frozen !== null && at < this.frozen.until ? this.frozen : null }),

    awaitLateSuccess: async ({ revisionId, until }: Input<'awaitLateSuccess'>) => {
      const cameUp = await poll('SLIPWAY_STEP_TIMED_OUT', () => {
        if (this.active === revisionId) return true;
        const { status } = this.#revision(revisionId);
        return revisionPhase(status) === 'failed' || isOver(until) ? false : undefined;
      });
      return { cameUp };
    },

    awaitLateUpload: async ({ objectPath, known, until }: Input<'awaitLateUpload'>) => ({
      revisionId: await poll('SLIPWAY_STEP_TIMED_OUT', () => {
        const landed = this.#existing()
          .revisions.filter(({ tarballPath }) => tarballPath === objectPath)
          .map(({ revisionId }) => revisionId)
          .find((revisionId) => !known.includes(revisionId));
        return landed ?? (isOver(until) ? null : undefined);
      }),
    }),

    sendNotice: async ({ receiver, notice }: Input<'sendNotice'>) => {
      this.told.push({ receiver: receiver.name, notice });
      return Promise.resolve({ detail: 'told' });
    },

    recordRelease: async ({ result, passed }: Input<'recordRelease'>) => {
      this.records.push(result);
      const digests = passed.map(({ checks }) => this.keep(checks));
      return Promise.resolve({ location: `records/${result.releaseId}.json`, digests });
    },

    readChecks: async ({ digest }: Input<'readChecks'>) => {
      const checks = this.keptChecks.get(digest);
      if (checks === undefined) throw failure('SLIPWAY_RECORD_UNREADABLE', { taken: false, final: true });
      return Promise.resolve({ checks });
    },
  };

  /** Carries out one call of an activity, with its next fault, if there is one. */
  async call(activity: ActivityName, input: unknown): Promise<unknown> {
    const { attempt, workflowExecution } = Context.current().info;
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
    const perform = this.activities[activity] as (input: unknown) => Promise<unknown>;
    const { target } = input as { target?: TargetSpec };
    const isRefused = this.refusedKeys.has(target?.apiKey.from ?? '');
    try {
      const result = await (isRefused
        ? refuseKey(() => perform(input), this)
        : this.faulty(activity, () => perform(input)));
      return { ...(result as object), attempt };
    } finally {
      call.endedAt = performance.now();
      this.#wake();
    }
  }

  /** Carries something out, with the next fault of its name, if there is one. */
  faulty<T>(name: FaultyName, perform: () => Promise<T>): Promise<T> {
    const fault = this.#faults.get(name)?.shift();
    return fault === undefined ? perform() : (fault(perform, this) as Promise<T>);
  }

  #wake(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  #isDead({ agentUrl }: TargetSpec): boolean {
    return this.deadAddresses.has(agentUrl ?? '');
  }

  #passes({ expect: { contains = '' } }: Check, { revisionId, identity }: Revision): boolean {
    const names = [revisionId, identity];
    if (this.providerIsAway || names.some((name) => this.bad.has(name))) return false;
    const knowing = this.knownOnlyTo.get(contains);
    return knowing === undefined || names.some((name) => knowing.has(name));
  }

  #existing(): Deployment {
    if (this.deployment === null) throw failure('SLIPWAY_NOT_FOUND', { taken: false });
    return this.deployment;
  }

  #revision(revisionId: string): Revision {
    const found = this.#existing().revisions.find((revision) => revision.revisionId === revisionId);
    if (found === undefined) throw failure('SLIPWAY_NOT_FOUND', { taken: false });
    return found;
  }

  #add(revision: Partial<Revision> & { identity: string }): Revision {
    this.#numbers.revision++;
    const added = {
      status: 'QUEUED',
      tarballPath: null,
      imageUri: null,
      repoRef: null,
      ...revision,
      revisionId: this.revisionId(this.#numbers.revision),
    };
    this.#existing().revisions.push(added);
    return added;
  }

  /** What the control plane does to a revision while somebody looks. */
  #advance(revision: Revision): Revision {
    const { revisionId, identity } = revision;
    if (revisionPhase(revision.status) !== 'pending') return revision;
    if (this.slow.has(revisionId) || this.slow.has(identity)) {
      revision.status = 'BUILDING';
      return revision;
    }
    const ending = this.broken.get(revisionId) ?? this.broken.get(identity);
    if (ending === undefined) this.bringUp(revisionId);
    else revision.status = ending;
    return revision;
  }

  #snapshot(): DeploymentSnapshot {
    const { deploymentId, name, activeRevisionId, revisions } = this.#existing();
    const latest = revisions.at(-1);
    return {
      deploymentId,
      name,
      activeRevisionId,
      latestRevisionId: latest?.revisionId ?? null,
      latestTarballPath: latest?.tarballPath ?? null,
      latestImageUri: latest?.imageUri ?? null,
      latestRepoRef: latest?.repoRef ?? null,
      agentUrl: `http://agent.${this.id}.test`,
    };
  }
}

type Input<Name extends ActivityName> = Parameters<Activities[Name]>[0];

const refuseKey: Fault = () =>
  Promise.reject(failure('SLIPWAY_UNAUTHORIZED', { taken: false, final: true, status: 401 }));

/** Something for an activity to wait at. */
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

  /** Resolves once it is open; rejects when the activity is canceled, which only heartbeats bring about. */
  async passed(): Promise<void> {
    const context = Context.current();
    while (!this.#isOpen) {
      context.heartbeat();
      await Promise.race([this.#opened, context.sleep(POLL_MS)]);
    }
  }
}

/** An activity's failure, shaped as `src/domain/failure.ts` says. */
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

function revisionSnapshot({ identity: _, ...revision }: Revision): RevisionSnapshot {
  return { ...revision, reason: revision.status === 'BUILD_FAILED' ? 'npm ci failed' : null };
}

function isOver(until: string): boolean {
  return Date.now() >= Date.parse(until);
}

/** Looks until there is something, with heartbeats; hands back after a while, as the real polls do. */
async function poll<T>(code: ErrorCode, look: () => T | undefined): Promise<T> {
  const context = Context.current();
  const until = Date.now() + ATTEMPT_MS;
  for (;;) {
    const seen = look();
    if (seen !== undefined) return seen;
    context.heartbeat();
    if (Date.now() > until) throw failure(code, { taken: false, retryAfterMs: POLL_MS });
    await context.sleep(POLL_MS);
  }
}
