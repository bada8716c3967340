import { inject, type RunnerTask, type RunnerTestFile, TestRunner } from 'vitest';

/** Skips every test where there is no PostgreSQL to run it on; `postgres.ts` says why. */
export default class PostgresRunner extends TestRunner {
  onCollected(files: RunnerTestFile[]): void {
    if ('unavailable' in inject('postgres')) files.forEach(skip);
  }
}

function skip(task: RunnerTask): void {
  task.mode = 'skip';
  if (task.type === 'suite') task.tasks.forEach(skip);
}
