import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect, it } from 'vitest';

const SCRIPT = new URL('../../scripts/build/runTests.mjs', import.meta.url).href;
const FIXTURES = fileURLToPath(new URL('./fixtures/', import.meta.url));

it('prints as its last line the number of passed, failed and skipped tests, with files that cannot be loaded', () => {
  expect(run('mixed')).toEqual({ status: 1, lastLine: '1 passed, 2 failed, 2 skipped' });
});

it('exits 0 if no test failed', () => {
  expect(run('good')).toEqual({ status: 0, lastLine: '1 passed, 0 failed, 0 skipped' });
});

it('fails without tests', () => {
  expect(run('nowhere')).toEqual({ status: 1, lastLine: '0 passed, 1 failed, 0 skipped' });
});

it('gives the tests a temporary folder that every user can enter, and removes it at the end', () => {
  const { lastLine } = run('leaving');
  expect(lastLine).toBe('1 passed, 0 failed, 0 skipped');
  const said = join(FIXTURES, 'leaving', 'folder.json');
  const { folder, mode } = JSON.parse(readFileSync(said, 'utf8')) as { folder: string; mode: number };
  rmSync(said);
  expect(mode & 0o777).toBe(0o755);
  expect(existsSync(folder)).toBe(false);
});

function run(fixture: string): { status: number | null; lastLine: string | undefined } {
  const program = `
    const { runTests } = await import(${JSON.stringify(SCRIPT)});
    process.exitCode = await runTests(['--root', ${JSON.stringify(FIXTURES + fixture)}]);
  `;
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
    // As in CI: no terminal, and no environment of the surrounding run.
    env: { PATH: process.env['PATH'], CI: 'true' },
  });
  return { status, lastLine: stdout.trimEnd().split('\n').at(-1) };
}
