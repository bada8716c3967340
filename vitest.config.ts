import { defineConfig } from 'vitest/config';

const needsTemporal = ['test/workflows/**/*.test.ts'];
const endToEnd = ['test/e2e/**/*.test.ts'];
/** What the platform keeps in its database: these run on the embedded one, and once more on a real PostgreSQL. */
const onPostgresToo = [
  'test/platform/store/database.test.ts',
  'test/platform/controlPlane/{deletion,idempotency,interruption,restart,revisionWork,sourceRetention,uploads}.test.ts',
  'test/platform/controlPlane/routes/*.test.ts',
  'test/platform/tracing/*.test.ts',
  'test/platform/openapi/*.test.ts',
  'test/platform/controlPlane/fuzz/*.test.ts',
  'test/platform/agentServer/{agentData,agentProcesses}.test.ts',
];
/** What only a real PostgreSQL has. */
const onPostgresOnly = [
  'test/platform/store/databaseOwner.test.ts',
  'test/platform/killed.test.ts',
  'test/platform/agentServer/lateCancels.test.ts',
];

export default defineConfig({
  test: {
    // Temporal's native library does not live in worker threads.
    pool: 'forks',
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['**/fixtures/**', '**/node_modules/**', ...needsTemporal, ...endToEnd, ...onPostgresOnly],
          globalSetup: 'test/support/preparedCluster.ts',
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: [...onPostgresToo, ...onPostgresOnly],
          globalSetup: 'test/support/postgres.ts',
          runner: 'test/support/postgresRunner.ts',
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'workflows',
          include: needsTemporal,
          globalSetup: 'test/support/temporalServer.ts',
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: endToEnd,
          // Each file runs its own Temporal, platform and worker processes, on ports and homes of its own.
          testTimeout: 240_000,
          hookTimeout: 240_000,
        },
      },
    ],
  },
});
