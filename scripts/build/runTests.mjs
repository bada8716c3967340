// Runs the tests; the last line of the output is `N passed, N failed, N skipped`.
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ROOT } from './freshness.mjs';

/**
 * Runs vitest with the given arguments. What tests leave in the temporary folder goes with the run: theirs is one of
 * its own, removed at the end.
 *
 * @returns the exit code: 0 only where the run ended well and counted no failure.
 */
export async function runTests(args) {
  const directory = mkdtempSync(join(tmpdir(), 'slipway-tests-'));
  // PostgreSQL runs as a user of its own where the tests run as root, and has to get to its data below.
  chmodSync(directory, 0o755);
  const counts = join(directory, 'counts.json');
  try {
    const code = await vitest(args, { SLIPWAY_TEST_COUNTS: counts, TMPDIR: directory });
    const { passed, failed, skipped } = readCounts(counts, code);
    process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped} skipped\n`);
    return code === 0 && failed > 0 ? 1 : code;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function vitest(args, environment) {
  const child = spawn(
    process.execPath,
    [
      join(ROOT, 'node_modules/vitest/vitest.mjs'),
      'run',
      '--reporter=default',
      `--reporter=${join(ROOT, 'scripts/build/countReporter.mjs')}`,
      ...args,
    ],
    {
      cwd: ROOT,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...environment },
    },
  );
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}

/** A run that broke before it could count has failed, and says so. */
function readCounts(path, code) {
  try {
    const counts = JSON.parse(readFileSync(path, 'utf8'));
    return code !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return { passed: 0, failed: code === 0 ? 0 : 1, skipped: 0 };
  }
}
