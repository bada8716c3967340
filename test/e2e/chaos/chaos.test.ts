import { expect, it } from 'vitest';

import { runChaos } from './chaos.ts';
import { problemsOf, summarize } from './summary.ts';

// The long version, with 50 releases on 5 targets: `npm run test:chaos`.
it('every release reaches an outcome and every rule holds while network and processes fail at random', async () => {
  const lines: string[] = [];
  const report = await runChaos({ seed: 3, releases: 5, targets: 2, onProgress: (line) => lines.push(line) });
  const output = `${lines.join('\n')}\n${summarize(report)}`;
  expect(problemsOf(report), output).toEqual([]);
  expect(report.faults.total, output).toBeGreaterThanOrEqual(10);
}, 400_000);
