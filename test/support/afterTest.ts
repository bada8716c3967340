import { onTestFinished, TestRunner } from 'vitest';

export type AfterTest = typeof onTestFinished;

/** For tests that run in turn: of concurrent ones, Vitest may take another for the test that is running. */
export const afterTest: AfterTest = (end) => {
  if (TestRunner.getCurrentTest()?.concurrent)
    throw new Error('a concurrent test must use the onTestFinished of its context');
  onTestFinished(end);
};
