import { parseArgs } from 'node:util';

import { runStress } from './stress.ts';

// npm run test:stress -- [--targets N] [--releases N] [--every SECONDS]
const { values } = parseArgs({
  options: {
    targets: { type: 'string', default: '50' },
    releases: { type: 'string', default: '10' },
    every: { type: 'string', default: '10' },
  },
});
const startedAt = Date.now();
const { outcomes, kills, disturbances, duplicates, histories, seconds, problems } = await runStress({
  targets: Number(values.targets),
  releases: Number(values.releases),
  everyMs: Number(values.every) * 1_000,
  onProgress: (line) => process.stdout.write(`${Math.round((Date.now() - startedAt) / 1_000)} s: ${line}\n`),
});
const counted = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');
for (const problem of problems) process.stdout.write(`NOT AS IT MUST BE: ${problem}\n`);
process.stdout.write(
  `${values.targets} targets; outcomes: ${counted(outcomes)}; ${kills} workers killed; ${counted(disturbances)}; ` +
    `${duplicates} duplicate revisions; ${histories} histories replayed; ${problems.length} problems; ${seconds} s\n`,
);
process.exit(problems.length === 0 ? 0 : 1);
