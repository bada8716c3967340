import { parseArgs } from 'node:util';

import { runChaos } from './chaos.ts';
import { problemsOf, summarize } from './summary.ts';

// npm run test:chaos -- [--seed N] [--releases N] [--targets N]
const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    releases: { type: 'string', default: '50' },
    targets: { type: 'string', default: '5' },
  },
});
const report = await runChaos({
  seed: values.seed === undefined ? undefined : Number(values.seed),
  releases: Number(values.releases),
  targets: Number(values.targets),
  onProgress: (line) => process.stdout.write(`${line}\n`),
});
process.stdout.write(`\n${summarize(report)}`);
const problems = problemsOf(report);
for (const problem of problems) process.stdout.write(`NOT AS IT MUST BE: ${problem}\n`);
process.exit(problems.length === 0 ? 0 : 1);
