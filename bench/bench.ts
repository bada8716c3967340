// Runs one benchmark, or all of them, each in its own process.
//
//   npm run bench                                      all
//   npm run bench -- deployments --count 500           one, with its arguments
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { FROM_SOURCE } from '../test/support/fromSource.ts';

const BENCHMARKS = [
  'start-up',
  'target-history',
  'rollback-latency',
  'alert-latency',
  'webhook-flood',
  'parked',
  'submissions',
  'recovery',
  'runs',
  'deployments',
  'switch',
  'builds',
  'judge-rates',
  'dashboard',
  'peers',
];
/** Scripts that read results or measure in another way. They run only by name. */
const TOOLS: Readonly<Record<string, string>> = { charts: 'peers/charts/charts', gaps: 'gaps' };

const [name, ...args] = process.argv.slice(2);
if (name !== undefined && !BENCHMARKS.includes(name) && !(name in TOOLS)) {
  const names = [...BENCHMARKS, ...Object.keys(TOOLS)].join('|');
  process.stderr.write(`usage: npm run bench [-- ${names} [ARGUMENTS]]\n`);
  process.exit(1);
}
for (const benchmark of name === undefined ? BENCHMARKS : [name]) {
  const script = fileURLToPath(new URL(`./${TOOLS[benchmark] ?? benchmark}.ts`, import.meta.url));
  const { status, error } = spawnSync(process.execPath, [...FROM_SOURCE, script, ...args], {
    stdio: 'inherit',
  });
  if (error !== undefined) throw error;
  if (status !== 0) process.exitCode = 1;
}
