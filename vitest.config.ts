import { defineConfig } from 'vitest/config';

const needsTemporal = ['test/workflows/**/*.test.ts'];
const endToEnd = ['test/e2e/**/*.test.ts'];

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
          exclude: ['**/fixtures/**', '**/node_modules/**', ...needsTemporal, ...endToEnd],
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
          // Each file runs its own Temporal, platform and worker processes.
          fileParallelism: false,
          testTimeout: 240_000,
          hookTimeout: 240_000,
        },
      },
    ],
  },
});
