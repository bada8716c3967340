#!/usr/bin/env node
// Builds Slipway: `src/` to `dist/`, then the workflow bundle that the worker loads, and the bundle that the command is.
// Quick where nothing changed.
//
//   node scripts/build.mjs
//   node scripts/build.mjs --no-types    without checking types: where they are checked by themselves, or do not matter
//   node scripts/build.mjs --package     and keeps nothing of earlier builds: what is there is what is published
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join, sep } from 'node:path';
import { parseArgs } from 'node:util';

import { bundleCommand, COMMAND } from './build/bundleCommand.mjs';
import { bundleWorkflows } from './build/bundleWorkflows.mjs';
import { DIST, ROOT, SRC, stampBuild } from './build/freshness.mjs';
import { writeCommandReference } from './build/writeCommandReference.mjs';
import { writeConfigSchema } from './build/writeConfigSchema.mjs';
import { writeEvents } from './build/writeEvents.mjs';

const { values: options } = parseArgs({
  options: { 'no-types': { type: 'boolean', default: false }, package: { type: 'boolean', default: false } },
});
const startedAt = Date.now();
removeOrphans(DIST);
compile();
const workflows = await bundleWorkflows();
await writeConfigSchema();
await writeCommandReference();
await writeEvents();
const command = await bundleCommand({ keepEarlier: !options.package });
stampBuild(startedAt);
process.stdout.write(
  `built dist/ in ${((Date.now() - startedAt) / 1000).toFixed(1)} s (workflows ${workflows}, command ${command})\n`,
);

/** Compiles with the project's own TypeScript; ends the build where it finds something wrong. */
function compile() {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const args = [tsc, '-p', 'tsconfig.build.json', ...(options['no-types'] ? ['--noCheck'] : [])];
  const { status, error } = spawnSync(process.execPath, args, {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

/** Removes what an earlier build made and this one does not: it would go on being loaded and published. */
function removeOrphans(directory) {
  if (!existsSync(directory)) return;
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const made = /^(?<stem>.*?)\.(?<kind>js|js\.map|d\.ts)$/.exec(entry.name);
    if (!entry.isFile() || made === null || isBundle(entry)) continue;
    const { stem, kind } = made.groups;
    const source = join(SRC, entry.parentPath.slice(DIST.length), `${stem}.ts`);
    // Nothing imports Slipway, so it has no declarations.
    if (kind === 'd.ts' || !existsSync(source)) rmSync(join(entry.parentPath, entry.name));
  }
}

/** Bundles have no source file of their own; who makes them removes them. */
function isBundle({ name, parentPath }) {
  return name.startsWith('workflow-bundle.') || `${parentPath}${sep}`.startsWith(`${COMMAND}${sep}`);
}
