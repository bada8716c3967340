import { parseArgs } from 'node:util';

import { runStress } from './stress.ts';

// npm run test:stress -- [--targets N] [--releases N] [--kills N]
const { values } = parseArgs({
  options: {
    targets: { type: 'string', default: '50' },
    releases: { type: 'string', default: '10' },
    kills: { type: 'string', default: '50' },
  },
});
const { released, kills, histories, seconds, problems } = await runStress({
  targets: Number(values.targets),
  releases: Number(values.releases),
  kills: Number(values.kills),
  onProgress: (line) => process.stdout.write(`${line}\n`),
});
for (const problem of problems) process.stdout.write(`NOT AS IT MUST BE: ${problem}\n`);
process.stdout.write(
  `${released} releases on ${values.targets} targets, ${kills} workers killed, ${histories} histories replayed, ` +
    `${problems.length} problems, in ${seconds} s\n`,
);
process.exit(problems.length === 0 ? 0 : 1);
