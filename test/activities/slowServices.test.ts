import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import type { Activities } from '../../src/activities/activities.ts';
import { createActivities } from '../../src/activities/createActivities.ts';
import { checksDigest } from '../../src/artifact/artifactStore.ts';
import type { Check } from '../../src/domain/check/check.ts';
import type { StepName } from '../../src/domain/step.ts';
import { coverChecks, stepPolicy } from '../../src/domain/stepTable.ts';
import { REVISION_ID, deploymentAnswer, revisionAnswer, revisionOn } from './activitiesUnderTest.ts';

/** How long a slow control plane, agent or store takes for each answer, in milliseconds. */
const SLOW_MS = 12_000;
/** A call to a receiver times out after 10 s. */
const SLOW_RECEIVER_MS = 9_900;
/** Pages of deployments whose names contain the wanted one. */
const PAGES = 8;
/** Pages of a discussion that are read, and the writing. */
const COMMENT_CALLS = 4;
const TICK_MS = 500;

interface Outside {
  revisionStatus: string;
  active: string;
  temporal: unknown;
}

const services = vi.hoisted((): Outside => ({ revisionStatus: 'DEPLOYED', active: '', temporal: null }));

/** A service whose every method answers after a delay, or fails if its caller does not wait that long. */
function slowService(answers: Readonly<Record<string, unknown>>, ms = SLOW_MS): unknown {
  const call =
    (answer: unknown) =>
    (...args: readonly unknown[]): Promise<unknown> => {
      const { timeoutMs = 0 } = (args.at(-1) ?? {}) as { readonly timeoutMs?: number };
      if (timeoutMs > 0 && timeoutMs < ms) throw new Error(`a call is given up on after ${timeoutMs} ms`);
      return after(ms, answer);
    };
  return Object.fromEntries(Object.entries(answers).map(([name, answer]) => [name, call(answer)]));
}

function slowStore(): unknown {
  return slowService({
    open: { stream: { destroy: () => undefined }, sizeBytes: 1 },
    verify: undefined,
    putRecord: undefined,
    getRecord: () => [],
    listRecords: () => [],
  });
}

async function after<T>(ms: number, value: T): Promise<T> {
  await new Promise((resolve) => setTimeout(resolve, ms));
  return typeof value === 'function' ? (value as () => T)() : value;
}

vi.mock('../../src/activities/connections.ts', () => ({
  Connections: class {
    controlPlane(): unknown {
      const deployment = () => deploymentAnswer({ active_revision_id: services.active });
      return {
        ...(slowService({
          getDeployment: deployment,
          createDeployment: deployment,
          patchDeployment: deployment,
          redeployRevision: deployment,
          deleteDeployment: undefined,
          getRevision: () => revisionAnswer(services.revisionStatus),
          listRevisions: { resources: [], offset: 0 },
          createUploadUrl: { object_path: 'uploads/1.tar.gz' },
          uploadArtifact: undefined,
        }) as object),
        deploymentNamed: () => after(SLOW_MS * PAGES, deploymentAnswer({ name: 'greeter' })),
      };
    }
    agent(): unknown {
      async function* events() {
        const link = { smoke: 'http://127.0.0.1:1/api/v1/feedback/tokens/1' };
        yield await Promise.resolve({ event: 'feedback', data: link });
        yield { event: 'values', data: { greeting: 'Hello'.repeat(100) } };
      }
      return slowService({ ok: undefined, streamStatelessRun: events });
    }
    feedback(): unknown {
      return slowService({ submit: undefined });
    }
    evaluators(): unknown {
      return {};
    }
    receivers(): unknown {
      return {};
    }
    openStore(): unknown {
      return slowStore();
    }
  },
}));
vi.mock('../../src/artifact/openArtifactStore.ts', () => ({
  openArtifactStore: () => slowStore(),
}));
vi.mock('../../src/activities/askTemporal.ts', () => ({
  askTemporal: () => after(SLOW_MS, services.temporal),
}));
vi.mock('../../src/clients/notify/github.ts', () => ({
  createGithubClient: () =>
    slowService(
      {
        deployments: [],
        createDeployment: { id: 1 },
        deploymentStatuses: [],
        createDeploymentStatus: undefined,
      },
      SLOW_RECEIVER_MS,
    ),
}));
vi.mock('../../src/clients/notify/comments.ts', () => ({
  writeComment: () => after(COMMENT_CALLS * SLOW_RECEIVER_MS, 'comment 1: added'),
}));
vi.mock('../../src/judge/judgement.ts', () => ({
  judgeCandidate: async ({ confirm }: { readonly confirm: (side: string) => Promise<void> }) => {
    await confirm('baseline');
    await confirm('candidate');
    return {};
  },
}));

const CHECKS: readonly Check[] = ['one', 'two', 'three'].map((name) => ({
  name,
  assistant: 'agent',
  input: {},
  expect: { contains: 'Hello' },
  timeoutMs: 60_000,
  feedbackKey: 'smoke',
}));
/** Long after every deadline of these tests. */
const LATER = '2100-01-01T00:00:00.000Z';
const REVISION = revisionOn('http://127.0.0.1:1');
const { target, deploymentId } = REVISION;
const STORE = 'a store';
const RUN = { ...REVISION, agentUrl: 'http://127.0.0.1:1', store: STORE };
const TARBALL = { kind: 'tarball', digest: 'sha256:1', sizeBytes: 1, store: STORE } as const;
const BY_NAME = { ...target, deploymentId: undefined };

interface Row {
  /** The steps that call it, with the checks that set their deadlines. */
  readonly steps: readonly (readonly [StepName, readonly Check[]])[];
  readonly input: unknown;
  /** Answers of the services that differ from the best case. */
  readonly outside?: Partial<Outside>;
}

/**
 * Every activity that a step calls, at its longest: each call that one attempt can make. No step calls `recallTarget`
 * (`recoveryActivities.test.ts`), `pollRevisions`, `proveIdentity`, or those of hooks and guards.
 */
const ROWS: Readonly<
  Record<
    Exclude<
      keyof Activities,
      'recallTarget' | 'pollRevisions' | 'proveIdentity' | 'lookForHook' | 'carryOutOrder' | 'guardRevision'
    >,
    Row
  >
> = {
  findDeployment: { steps: [['find', []]], input: { target: BY_NAME } },
  createDeployment: { steps: [['create', []]], input: { target, artifact: TARBALL } },
  readDeployment: { steps: [['find', []]], input: REVISION },
  readRevision: { steps: [['find', []]], input: REVISION },
  listRevisions: { steps: [['find', []]], input: REVISION },
  uploadArtifact: { steps: [['upload', []]], input: { target, deploymentId, artifact: TARBALL } },
  patchDeployment: {
    steps: [['patch', []]],
    input: { target, deploymentId, artifact: TARBALL, objectPath: 'uploads/1.tar.gz' },
  },
  redeployRevision: { steps: [['redeploy', []]], input: REVISION },
  awaitDeployed: { steps: [['deployed', []]], input: REVISION, outside: { revisionStatus: 'BUILDING' } },
  confirmServing: { steps: [['serving', []]], input: REVISION, outside: { active: 'another' } },
  askAgent: { steps: [['find', []]], input: { target, agentUrl: RUN.agentUrl } },
  findDatasets: { steps: [['find', []]], input: { store: STORE, digests: [] } },
  readChecks: { steps: [['record', []]], input: { store: STORE, digest: checksDigest([]) } },
  runCheck: {
    steps: [
      ['check', CHECKS.slice(0, 1)],
      ['baseline', CHECKS.slice(0, 1)],
    ],
    input: { ...RUN, check: CHECKS[0] },
  },
  lookAtFreezes: { steps: [['freeze', []]], input: { freezes: [], at: 0 } },
  judgeCandidate: {
    steps: [['judge', []]],
    input: {
      judgementId: '1',
      store: STORE,
      inputs: 'recorded',
      settings: {},
      sides: { baseline: RUN, candidate: RUN },
    },
  },
  awaitLateSuccess: {
    steps: [['watch', []]],
    input: { ...REVISION, until: LATER },
    outside: { active: 'another', revisionStatus: 'BUILDING' },
  },
  awaitLateUpload: {
    steps: [['watch', []]],
    input: { target, deploymentId, objectPath: 'uploads/2.tar.gz', known: [], until: LATER },
  },
  watchRevision: {
    steps: [
      ['soak', CHECKS],
      ['bake', CHECKS],
    ],
    input: { ...RUN, checks: CHECKS, until: Number.MAX_SAFE_INTEGER, everyMs: 60_000 },
  },
  lookAtLine: {
    steps: [['candidate', []]],
    input: { from: BY_NAME, to: BY_NAME, downstream: [BY_NAME, BY_NAME] },
  },
  findArtifact: { steps: [['candidate', []]], input: { store: STORE, artifact: TARBALL.digest } },
  submitToTarget: { steps: [['promote', []]], input: { request: { target }, submission: 'a' } },
  awaitRelease: {
    steps: [['promote', []]],
    input: { target, id: 'release-1' },
    outside: { temporal: { state: 'running', releaseId: 'release-1' } },
  },
  withdrawSubmission: {
    steps: [['promote', []]],
    input: { target, recordStore: STORE, submission: 'a', by: { who: 'ada', from: 'cli' } },
    outside: { temporal: [] },
  },
  claimDeployment: { steps: [['find', []]], input: REVISION, outside: { temporal: {} } },
  keepTarget: { steps: [['record', []]], input: { store: STORE, state: {} } },
  awaitWork: {
    steps: [['promote', []]],
    input: { workflowId: 'target:1/release-1' },
    outside: { temporal: { insteadOf: 'target:1/release-1 runs' } },
  },
  rollBackTarget: { steps: [['promote', []]], input: { target, message: {} } },
  holdTarget: { steps: [['promote', []]], input: { target, by: {} } },
  sendNotice: {
    steps: [['notify', []]],
    input: {
      receiver: {
        kind: 'github_deployment',
        name: 'github',
        repository: 'a/b',
        token: { from: 'env:SLIPWAY_TEST_API_KEY' },
      },
      notice: {
        id: '1',
        event: 'started',
        target: 'production',
        targetId: 'x',
        name: 'release-1',
        commit: 'abc',
        by: { from: 'cli' },
      },
    },
  },
  writeComment: {
    steps: [['notify', []]],
    input: {
      comment: {
        kind: 'github',
        apiUrl: 'https://api.github.com',
        repository: 'a/b',
        token: { from: 'env:SLIPWAY_TEST_API_KEY' },
      },
      pr: 1,
      marker: 'marker',
      body: 'body',
    },
  },
  deleteDeployment: { steps: [['find', []]], input: REVISION },
  parkDeployment: { steps: [['find', []]], input: REVISION },
  endTarget: { steps: [['find', []]], input: { target, deploymentId, isDeleted: true } },
  recordPromotion: {
    steps: [['record', []]],
    input: { store: STORE, runId: '1', result: { startedAt: '' } },
  },
  recordRelease: {
    steps: [['record', []]],
    input: {
      store: STORE,
      result: { startedAt: '', knownRevisions: [] },
      passed: [{ revisionId: 'new', checks: CHECKS }],
    },
  },
};

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const CASES = Object.entries(ROWS).flatMap(([name, row]) =>
  row.steps.map(([step, checks]) => ({ name: name as keyof Activities, step, checks, ...row })),
);

it.each(CASES)(
  'one attempt of $name fits into the deadlines of the step $step if each answer takes 12 s',
  async ({ name, step, checks, input, outside = {} }) => {
    Object.assign(services, { revisionStatus: 'DEPLOYED', active: REVISION_ID, temporal: null }, outside);
    const { startToCloseMs, heartbeatMs } = policyOf(step, checks);
    const began = Date.now();
    const environment = new MockActivityEnvironment({
      startToCloseTimeoutMs: startToCloseMs,
      scheduledTimestampMs: began,
      currentAttemptScheduledTimestampMs: began,
      scheduleToCloseTimeoutMs: 3_600_000,
      ...(heartbeatMs === undefined ? {} : { heartbeatTimeoutMs: heartbeatMs }),
    });
    let seenAt = began;
    let longestSilence = 0;
    const seen = (): void => {
      longestSilence = Math.max(longestSilence, Date.now() - seenAt);
      seenAt = Date.now();
    };
    environment.on('heartbeat', seen);
    const { activities } = createActivities(
      new AbortController().signal,
      { atOnce: 0, apartMs: 0 },
      'slipway',
    );
    let ended: unknown;
    const attempt = environment
      .run(() => activities[name](input as never))
      .then((result) => (ended = result ?? {}))
      .catch((error: unknown) => (ended = error));
    while (ended === undefined && Date.now() - began <= startToCloseMs) {
      await vi.advanceTimersByTimeAsync(TICK_MS);
    }
    expect(ended, `not done after its ${startToCloseMs} ms`).toBeDefined();
    await attempt;
    // A poll that hands over to the next attempt has completed this one.
    if (ended instanceof Error) expect(ended).toMatchObject({ category: 'BENIGN' });
    seen();
    if (heartbeatMs !== undefined) expect(longestSilence).toBeLessThan(heartbeatMs);
  },
);

function policyOf(step: StepName, checks: readonly Check[]) {
  return stepPolicy(step, checks.length === 0 ? {} : coverChecks(step, {}, checks));
}
