// Runs one benchmark, or all of them, each in a process of its own.
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
  'parked',
  'submissions',
  'recovery',
  'runs',
  'deployments',
  'switch',
  'builds',
  'judge-rates',
  'peers',
] as const;

const [name, ...args] = process.argv.slice(2);
if (name !== undefined && !(BENCHMARKS as readonly string[]).includes(name)) {
  process.stderr.write(`usage: npm run bench [-- ${BENCHMARKS.join('|')} [ARGUMENTS]]\n`);
  process.exit(1);
}
for (const benchmark of name === undefined ? BENCHMARKS : [name]) {
  const script = fileURLToPath(new URL(`./${benchmark}.ts`, import.meta.url));
  const { status, error } = spawnSync(process.execPath, [...FROM_SOURCE, script, ...args], {
    stdio: 'inherit',
  });
  if (error !== undefined) throw error;
  if (status !== 0) process.exitCode = 1;
}
