#!/usr/bin/env node
// Packs the three packages as npm publishes them, and checks the packed files: their manifests (publint), and the types
// of the two importable ones (attw). Exits with 1 if a check failed.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ROOT } from './build/freshness.mjs';

const folder = mkdtempSync(join(tmpdir(), 'slipway-packages-'));
try {
  run(process.execPath, join(ROOT, 'scripts/build.mjs'), '--package', '--no-types');
  run(
    'npm',
    'pack',
    '--silent',
    '--workspaces',
    '--include-workspace-root',
    '--ignore-scripts',
    '--pack-destination',
    folder,
  );
  const packed = readdirSync(folder).map((name) => join(folder, name));
  for (const file of packed) run('publint', 'run', file, '--strict');
  // The command is not imported.
  const imported = packed.filter((file) => /contract|platform/.test(file));
  for (const file of imported) run('attw', file, '--profile', 'esm-only', '--format', 'ascii', '--no-emoji');
} finally {
  rmSync(folder, { recursive: true });
}

function run(command, ...args) {
  const path = `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`;
  const { status, error } = spawnSync(command, args, {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, PATH: path },
  });
  if (error !== undefined) throw error;
  if (status !== 0) process.exitCode = 1;
}
