// The workflow bundle: made ahead of time by the same version of the SDK that loads it.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';

import { DIST, PACKAGES, ROOT } from './freshness.mjs';
import { bundleModules } from './workflowBundle.mjs';

const BUNDLE = join(DIST, 'workflow-bundle.cjs');
/** The digest of all inputs of the bundle. */
const INPUTS_DIGEST = join(DIST, 'workflow-bundle.inputs');
/** Workflows import only the SDK, these folders, and single files of the contract; a lint rule enforces that. */
const ROOMS = [
  ...['workflows', 'messages', 'domain'].map((room) => join(DIST, room)),
  PACKAGES.contract.dist,
];

/**
 * Bundles `dist/workflows/index.js` into `dist/workflow-bundle.cjs`, unless the existing one was made from the same
 * code.
 * @returns `unchanged`, or its size.
 */
export async function bundleWorkflows() {
  const digest = digestInputs();
  if (existsSync(BUNDLE) && existsSync(INPUTS_DIGEST) && readFileSync(INPUTS_DIGEST, 'utf8') === digest) {
    return 'unchanged';
  }
  const code = await bundleModules(join(DIST, 'workflows'), '.js', { logger: quietLogger() });
  // A rename, so that a starting worker never sees a partial bundle.
  const unfinished = `${BUNDLE}.${process.pid}.tmp`;
  writeFileSync(unfinished, code);
  renameSync(unfinished, BUNDLE);
  writeFileSync(INPUTS_DIGEST, digest);
  return `${Math.round(code.length / 1024)} KiB`;
}

function digestInputs() {
  const hash = createHash('sha256');
  hash.update(readFileSync(new URL('./workflowBundle.mjs', import.meta.url)));
  const require = createRequire(join(ROOT, 'package.json'));
  for (const name of ['@temporalio/worker', '@temporalio/workflow']) {
    hash.update(`${name}@${require(`${name}/package.json`).version}\n`);
  }
  for (const room of ROOMS) {
    const files = readdirSync(room, { recursive: true }).filter((name) => name.endsWith('.js'));
    for (const name of files.sort()) {
      hash.update(`${relative(ROOT, room)}/${name}\n`).update(readFileSync(join(room, name)));
    }
  }
  return hash.digest('hex');
}

/** Hides the bundler's progress (level INFO); shows warnings and errors. */
function quietLogger() {
  const show = (message, meta) =>
    process.stderr.write(`${message} ${meta === undefined ? '' : JSON.stringify(meta)}\n`);
  const hide = () => undefined;
  return {
    log: (level, message, meta) => (level === 'WARN' || level === 'ERROR' ? show : hide)(message, meta),
    trace: hide,
    debug: hide,
    info: hide,
    warn: show,
    error: show,
  };
}
