#!/usr/bin/env node
// Prints the SBOM (CycloneDX) of what users install: the three packages, with the lock file's versions of what they need.
// "npm sbom --omit=dev" would leave out each package that development needs, too.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ROOT } from './build/freshness.mjs';

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

const folder = mkdtempSync(join(tmpdir(), 'slipway-parts-'));
try {
  const names = ['slipway', '@slipway/contract', '@slipway/platform'];
  const wanted = names.map((name) => `${name}@${version}`);
  execFileSync(process.execPath, [join(ROOT, 'packages/action/writeLock.mjs'), folder, ...wanted]);
  execFileSync('npm', ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'], {
    cwd: folder,
    stdio: 'inherit',
  });
} finally {
  rmSync(folder, { recursive: true });
}
