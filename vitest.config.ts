import { defineConfig } from 'vitest/config';

import { SOURCE_CONDITION } from './test/support/fromSource.ts';
import { LongestFirst } from './test/support/longestFirst.ts';
import { QUICK_START } from './test/support/quickStart.ts';

const needsTemporal = ['test/workflows/**/*.test.ts', 'test/rehearsal/rehearse.test.ts'];
const endToEnd = ['test/e2e/**/*.test.ts'];
/** What stands on a platform: their processes have the database's engine compiled. */
const onPlatforms = ['packages/platform/test/**/*.test.ts'];
/** What changes the process that it runs in, or puts something else in a module's place: each file has its own. */
const alone = ['test/activities/**/*.test.ts', 'packages/platform/test/access/access.test.ts'];
/** What the platform keeps in its database: these run on the embedded one, and once more on a real PostgreSQL. */
const onPostgresToo = [
  'packages/platform/test/store/database.test.ts',
  'packages/platform/test/controlPlane/{deletion,idempotency,instance,interruption,restart,revisionWork,sourceRetention,uploads}.test.ts',
  'packages/platform/test/controlPlane/routes/*.test.ts',
  'packages/platform/test/tracing/*.test.ts',
  'packages/platform/test/controlPlane/fuzz/*.test.ts',
  'packages/platform/test/agentServer/{agentData,agentProcesses,threadBusy}.test.ts',
];
/** What only a real PostgreSQL has. */
const onPostgresOnly = [
  'packages/platform/test/store/databaseOwner.test.ts',
  'packages/platform/test/killed.test.ts',
  'packages/platform/test/agentServer/{lateCancels,postgresRestart}.test.ts',
  'packages/platform/test/controlPlane/secretsRotationKilled.test.ts',
];

const CONDITIONS = [SOURCE_CONDITION, 'node', 'development|production'];

export default defineConfig({
  // No test needs a build of the packages beside this one, and neither does a global setup (`__vitest__`), for which Vite
  // would have Node load them, without this condition.
  ssr: { resolve: { conditions: CONDITIONS } },
  environments: { __vitest__: { resolve: { conditions: CONDITIONS, noExternal: [/^@slipway\//] } } },
  test: {
    // Temporal's native library does not live in worker threads.
    pool: 'forks',
    execArgv: [...QUICK_START, `--conditions=${SOURCE_CONDITION}`],
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts', 'packages/contract/test/**/*.test.ts'],
          exclude: [
            '**/fixtures/**',
            '**/node_modules/**',
            ...needsTemporal,
            ...endToEnd,
            ...onPlatforms,
            ...alone,
          ],
          // They leave nothing behind in their process: it is the next file's, with the modules that it has.
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
          exclude: ['**/fixtures/**', '**/node_modules/**', ...onPostgresOnly, ...alone],
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
          include: needsTemporal,
          isolate: false,
          globalSetup: 'test/support/temporalServer.ts',
          // Each test waits for most of its time, on a target and a world of its own.
          maxConcurrency: 12,
          testTimeout: 240_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: endToEnd,
          setupFiles: 'test/e2e/printedLines.ts',
          // Each file runs its own Temporal, platform and worker processes, on ports and homes of its own: some ten of
          // them, so that two files at once, and nothing beside them, is what two processors carry.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
          testTimeout: 240_000,
          hookTimeout: 240_000,
        },
      },
    ],
  },
});
