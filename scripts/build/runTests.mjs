// Runs the tests; the last line of the output is `N passed, N failed, N skipped`.
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ROOT } from './freshness.mjs';

/**
 * Runs vitest with the given arguments, in its own temporary folder, which is removed at the end.
 * @returns the exit code: 0 only if the run succeeded and counted no failure.
 */
export async function runTests(args) {
  const directory = mkdtempSync(join(tmpdir(), 'slipway-tests-'));
  // If the tests run as root, PostgreSQL runs as another user, which must be able to access its data in this folder.
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

/** A run that ended before it could count is reported as failed. */
function readCounts(path, code) {
  try {
    const counts = JSON.parse(readFileSync(path, 'utf8'));
    return code !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return { passed: 0, failed: code === 0 ? 0 : 1, skipped: 0 };
  }
}
