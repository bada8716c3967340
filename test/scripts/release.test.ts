import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect, it, onTestFinished } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const NAMED_IN = [
  'package.json',
  'packages/contract/package.json',
  'packages/platform/package.json',
  'package-lock.json',
  'deploy/helm/slipway/Chart.yaml',
  'docker-compose.yml',
  'docs/kubernetes.md',
];
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };

/** A copy of the files that name the version, with other notes. */
function copyWith(notes: string): { run: (...args: string[]) => string; read: (file: string) => string } {
  const folder = mkdtempSync(join(tmpdir(), 'slipway-release-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const file of NAMED_IN) cpSync(join(ROOT, file), join(folder, file));
  writeFileSync(join(folder, 'CHANGELOG.md'), `# Changelog\n\n${notes}`);
  return {
    run: (...args) =>
      execFileSync(process.execPath, [join(ROOT, 'scripts/release.mjs'), ...args], {
        cwd: folder,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    read: (file) => readFileSync(join(folder, file), 'utf8'),
  };
}

function changed(one: string, other: string): string[] {
  const before = one.split('\n');
  return other
    .split('\n')
    .filter((line, index) => line !== before[index])
    .map((line) => line.trim());
}

it('a new version is set in the packages, what they need of each other, the lock file, the chart and the image', () => {
  const { run, read } = copyWith('## Unreleased\n\n- A change.\n');
  run('987.6.5');
  const lines = NAMED_IN.map((file) => changed(readFileSync(join(ROOT, file), 'utf8'), read(file)));
  expect(lines.map((each) => each.length)).toEqual([3, 1, 2, 7, 2, 1, 2]);
  expect(lines.flat().filter((line) => !line.includes('987.6.5'))).toEqual([]);
});

it('the lines of the changelog become those of the version', () => {
  const { run, read } = copyWith(
    '## Unreleased\n\n- A change.\n\n## 0.0.1 (2026-01-01)\n\n- An older one.\n',
  );
  run('987.6.5');
  expect(read('CHANGELOG.md')).toMatch(/^## 987\.6\.5 \(\d{4}-\d\d-\d\d\)\n\n- A change\.\n\n## 0\.0\.1/m);
  expect(run('--notes')).toBe('- A change.\n');
});

it.each([
  ['not a version', ['next'], '## Unreleased\n\n- A change.\n', 'Name the version'],
  ['before the current one', ['0.0.1'], '## Unreleased\n\n- A change.\n', `0.0.1 is before ${version}`],
  [
    'released',
    ['987.6.5'],
    '## Unreleased\n\n- A change.\n\n## 987.6.5 (2026-01-01)\n',
    'already has 987.6.5',
  ],
  [
    'without a change',
    ['987.6.5'],
    '## Unreleased\n\n## 0.0.1 (2026-01-01)\n\n- One.\n',
    'has no line below',
  ],
  ['without notes', ['--notes'], '## Unreleased\n\n- A change.\n', `has no section "${version}"`],
])('a version that is %s is rejected, and no file changes', (_, args, notes, reason) => {
  const { run, read } = copyWith(notes);
  expect(() => run(...args)).toThrow(reason);
  expect(read('CHANGELOG.md')).toBe(`# Changelog\n\n${notes}`);
  expect(read('package.json')).toBe(readFileSync(join(ROOT, 'package.json'), 'utf8'));
});

it('the changelog begins with the unreleased changes, or with the version of the packages', () => {
  const [heading = ''] = /^## .*$/m.exec(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8')) ?? [];
  expect(['## Unreleased', `## ${version} (${heading.slice(-11, -1)})`]).toContain(heading);
});
