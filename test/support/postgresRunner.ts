import { inject, type RunnerTask, type RunnerTestFile, TestRunner } from 'vitest';

/** Skips every test if there is no PostgreSQL; `postgres.ts` reports why. */
export default class PostgresRunner extends TestRunner {
  onCollected(files: RunnerTestFile[]): void {
    if ('unavailable' in inject('postgres')) files.forEach(skip);
  }
}

function skip(task: RunnerTask): void {
  task.mode = 'skip';
  if (task.type === 'suite') task.tasks.forEach(skip);
}
