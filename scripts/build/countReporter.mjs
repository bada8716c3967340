// A vitest reporter that counts. A file that cannot be loaded, and an error outside of any test, count as failures.
import { writeFileSync } from 'node:fs';

export default class CountReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) {
      for (const suite of module.children.allSuites()) counts.failed += suite.errors().length;
      counts.failed += module.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        // A test that was pending when the run was interrupted did not run.
        counts[state === 'pending' ? 'skipped' : state] += 1;
      }
    }
    writeFileSync(process.env.SLIPWAY_TEST_COUNTS, JSON.stringify(counts));
  }
}
