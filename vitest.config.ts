import { defineConfig } from 'vitest/config';

import { SOURCE_CONDITION } from './test/support/fromSource.ts';
import { LongestFirst } from './test/support/longestFirst.ts';
import { QUICK_START } from './test/support/quickStart.ts';

const needsTemporal = ['test/workflows/**/*.test.ts', 'test/rehearsal/rehearse.test.ts'];
/** Tests that find nothing more if each workflow is rebuilt from its history at each task. */
const withCacheAlone = [
  'bundleBudget',
  'schedule/cronTimes',
  'failuresWithoutDetails',
  'fuzz',
  'check/longAnswers',
  'pausedWorker',
  'polls',
  'replay',
  'steps',
  'target/stuckTarget',
  'taskBoundaries',
].map((name) => `test/workflows/${name}.test.ts`);
/** Long tests: one with very many inputs, and one that needs many rounds because its timing is random. */
const manyInputs = ['test/workflows/{queriesDuringTries,target/hostileRequests}.test.ts'];
const inBrowsers = ['test/dashboard/browser/*.test.{ts,tsx}', 'test/dashboard/access/chromium.test.ts'];
/** The main job under kills, each exit code of the command, and the scripts of npm. The other end-to-end tests run at night. */
const mainJob = ['test/e2e/{mainJob,exitCodes,npmScripts}.test.ts'];
/** Tests that need a container engine or a Kubernetes API server. Without one they are skipped, with the reason. */
const inContainers = ['test/e2e/{containers,kubernetes}/*.test.ts'];
const nightly = [
  'test/e2e/**/*.test.ts',
  'test/docs/siteBuild.test.ts',
  'packages/platform/test/{fullDisk,publicDeployCommand}.test.ts',
  'packages/platform/test/agentServer/{databaseOutage,handedOverRuns,killedAgents}.test.ts',
];
/** Tests of the platform. They share processes, so that the database's engine is compiled once for several files. */
const onPlatforms = ['packages/platform/test/**/*.test.ts'];
/** Tests that change their process or replace a module: each file has its own process. */
const alone = [
  'test/activities/{slowServices,check/evaluators,target/recoveryActivities}.test.ts',
  'test/artifact/s3/traces.test.ts',
  'test/cli/commands/{audit,intervention/undeclaredPromotion,rollback/{heldTarget,interrupted},schedule/movedSchedule}.test.ts',
  'test/cli/commands/target/{forgottenTarget,lostDeployment}.test.ts',
  'test/cli/identity/commandProofs.test.ts',
  'test/dashboard/live/guardWatch.test.ts',
  'test/temporal/codec/decodeHistory.test.ts',
  'packages/platform/test/access/constantTime.test.ts',
];
/** Tests of the platform's database: they run on the embedded one, and again on a real PostgreSQL. */
const onPostgresToo = [
  'packages/platform/test/store/{agentStorage,database}.test.ts',
  'packages/platform/test/controlPlane/{deletion,idempotency,instance,interruption,restart,revisionWork,retention,uploads}.test.ts',
  'packages/platform/test/controlPlane/routes/*.test.ts',
  'packages/platform/test/tracing/*.test.ts',
  'packages/platform/test/controlPlane/fuzz/*.test.ts',
  'packages/platform/test/agentServer/{agentData,agentProcesses,threadBusy}.test.ts',
];
/** Tests that need a real PostgreSQL. */
const onPostgresOnly = [
  'packages/platform/test/store/{databaseOwner,pool}.test.ts',
  'packages/platform/test/killed.test.ts',
  'packages/platform/test/agentServer/{lockedRows,postgresRestart}.test.ts',
  'packages/platform/test/controlPlane/secretsRotationKilled.test.ts',
];

/**
 * `npm run test:coverage` fails below these percentages. They are for the folders that `unit` and `alone` test; the others
 * are tested by processes and workers, which coverage does not count.
 */
const COVERED = {
  'packages/contract/src/**': { lines: 92, branches: 82 },
  'src/activities/**': { lines: 79, branches: 65 },
  'src/artifact/**': { lines: 95, branches: 84 },
  'src/clients/**': { lines: 85, branches: 83 },
  'src/config/**': { lines: 97, branches: 89 },
  'src/domain/**': { lines: 97, branches: 92 },
  'src/judge/**': { lines: 96, branches: 84 },
};

const CONDITIONS = [SOURCE_CONDITION, 'node', 'development|production'];

const ON_TEMPORAL = {
  isolate: false,
  globalSetup: 'test/support/temporalServer.ts',
  // Each test has its own target and services, and spends most of its time waiting.
  maxConcurrency: 12,
  testTimeout: 240_000,
  hookTimeout: 60_000,
};

const END_TO_END = {
  setupFiles: 'test/e2e/printedLines.ts',
  // Each file runs about ten processes, with its own Temporal, platform and worker. Nothing else runs meanwhile. On average
  // one of three files waits for a service that does not answer.
  maxWorkers: 3,
  sequence: { groupOrder: 1 },
  testTimeout: 240_000,
  hookTimeout: 240_000,
};

export default defineConfig({
  // Tests and global setups (`__vitest__`) load the packages from their sources. Without this condition, Vite would let Node
  // load their builds.
  ssr: { resolve: { conditions: CONDITIONS } },
  environments: { __vitest__: { resolve: { conditions: CONDITIONS, noExternal: [/^@slipway\//] } } },
  test: {
    // Temporal's native library does not work in worker threads.
    pool: 'forks',
    execArgv: [...QUICK_START, `--conditions=${SOURCE_CONDITION}`],
    maxWorkers: 3,
    // Also if a container engine is found: agents in containers take longer, and have separate tests.
    env: { SLIPWAY_ISOLATION: 'process' },
    coverage: {
      include: ['src/**/*.{ts,tsx}', 'packages/*/src/**/*.ts'],
      exclude: ['examples/**'],
      reporter: ['text-summary', 'html'],
      thresholds: COVERED,
    },
    sequence: { sequencer: LongestFirst },
    // The default, a second, is too short on a busy machine.
    expect: { poll: { timeout: 20_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.{ts,tsx}', 'packages/{action,contract}/test/**/*.test.ts'],
          exclude: [
            '**/fixtures/**',
            '**/node_modules/**',
            ...needsTemporal,
            ...inBrowsers,
            ...onPlatforms,
            ...nightly,
            ...alone,
          ],
          // The files leave nothing behind in their process, so the next file uses it with its loaded modules.
          isolate: false,
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'platform',
          include: onPlatforms,
          exclude: ['**/fixtures/**', '**/node_modules/**', ...onPostgresOnly, ...nightly, ...alone],
          isolate: false,
          testTimeout: 90_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: alone,
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: [...onPostgresToo, ...onPostgresOnly],
          isolate: false,
          globalSetup: 'test/support/postgres.ts',
          runner: 'test/support/postgresRunner.ts',
          testTimeout: 90_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'workflows',
          ...ON_TEMPORAL,
          include: needsTemporal,
          exclude: manyInputs,
          provide: { workerMode: {} },
        },
      },
      {
        extends: true,
        test: {
          // The same tests; several workers without a cache rebuild a workflow from its history at each task.
          name: 'rebuilt',
          ...ON_TEMPORAL,
          include: needsTemporal,
          exclude: [...withCacheAlone, ...manyInputs, 'test/rehearsal/**'],
          provide: { workerMode: { maxCachedWorkflows: 0, workers: 4 } },
        },
      },
      {
        extends: true,
        test: { name: 'inputs', ...ON_TEMPORAL, include: manyInputs, provide: { workerMode: {} } },
      },
      {
        extends: true,
        test: { name: 'browser', ...ON_TEMPORAL, include: inBrowsers, provide: { workerMode: {} } },
      },
      { extends: true, test: { name: 'e2e', ...END_TO_END, include: mainJob } },
      {
        extends: true,
        test: { name: 'nightly', ...END_TO_END, include: nightly, exclude: [...mainJob, ...inContainers] },
      },
      {
        extends: true,
        test: {
          name: 'containers',
          ...END_TO_END,
          // Projects of one group must have equal numbers of workers.
          sequence: { groupOrder: 2 },
          maxWorkers: 1,
          include: inContainers,
        },
      },
    ],
  },
});
