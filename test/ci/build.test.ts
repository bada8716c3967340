import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect, it, onTestFinished } from 'vitest';

const SCRIPT = fileURLToPath(new URL('../../ci/build.sh', import.meta.url));

/** Runs the script with an `npm` that records its arguments and its environment. */
function build(env: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'slipway-ci-build-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'ci'));
  cpSync(SCRIPT, join(folder, 'ci/build.sh'));
  const npm = join(folder, 'npm');
  writeFileSync(npm, `#!/bin/sh\n{ echo "npm $*"; env; } >> '${join(folder, 'calls')}'\n`);
  chmodSync(npm, 0o755);
  execFileSync('bash', [join(folder, 'ci/build.sh')], {
    env: { PATH: `${folder}:${process.env['PATH'] ?? ''}`, HOME: folder, ...env },
  });
  return readFileSync(join(folder, 'calls'), 'utf8');
}

it('a job installs and builds without its secrets, and without install scripts', () => {
  const calls = build({
    SLIPWAY_API_KEY: 'secret-1',
    TEMPORAL_API_KEY: 'secret-2',
    GITHUB_TOKEN: 'secret-3',
  });
  expect(calls).not.toContain('secret-');
  expect(calls.match(/^npm .*/gm)).toEqual([
    'npm ci --ignore-scripts --no-audit --no-fund',
    'npm run build -- --no-types',
  ]);
});

it('it keeps the settings of the registry', () => {
  const calls = build({ npm_config_registry: 'https://npm.example.com', HTTPS_PROXY: 'http://proxy:8080' });
  expect(calls).toContain('npm_config_registry=https://npm.example.com\n');
  expect(calls).toContain('HTTPS_PROXY=http://proxy:8080\n');
});
