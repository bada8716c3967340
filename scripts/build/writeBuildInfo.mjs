// `dist/build.json`: what `slipway --version` prints beside the version.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { DIST, ROOT } from './freshness.mjs';

/** Enough of a SHA-256 to distinguish bundles. A versioned worker's build id is the same text. */
const BUNDLE_DIGITS = 12;

/** Writes the commit that was built, and the id of the workflow bundle. */
export function writeBuildInfo() {
  const digest = createHash('sha256')
    .update(readFileSync(join(DIST, 'workflow-bundle.cjs')))
    .digest('hex');
  const info = { commit: commit(), bundle: digest.slice(0, BUNDLE_DIGITS) };
  writeFileSync(join(DIST, 'build.json'), `${JSON.stringify(info)}\n`);
}

/**
 * The checkout's commit, with `-dirty` if files differ from it. Without a checkout, as in a container build,
 * `SLIPWAY_COMMIT`; `null`: unknown.
 */
function commit() {
  const said = process.env.SLIPWAY_COMMIT ?? '';
  if (said !== '') return said;
  // This folder may be inside another project's checkout.
  if (!existsSync(join(ROOT, '.git'))) return null;
  const args = ['describe', '--always', '--dirty', '--abbrev=12', '--exclude=*'];
  try {
    return execFileSync('git', args, {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return null;
  }
}
