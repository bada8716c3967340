#!/usr/bin/env node
// Builds Slipway: `src/` to `dist/`, then the workflow bundle that the worker loads. Quick where nothing changed.
//
//   node scripts/build.mjs
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { bundleWorkflows } from './build/bundleWorkflows.mjs';
import { DIST, ROOT, SRC, stampBuild } from './build/freshness.mjs';
import { writeCommandReference } from './build/writeCommandReference.mjs';
import { writeConfigSchema } from './build/writeConfigSchema.mjs';

const startedAt = Date.now();
removeOrphans(DIST);
compile();
const bundle = await bundleWorkflows();
await writeConfigSchema();
await writeCommandReference();
stampBuild(startedAt);
process.stdout.write(
  `built dist/ in ${((Date.now() - startedAt) / 1000).toFixed(1)} s (workflow bundle ${bundle})\n`,
);

/** Compiles with the project's own TypeScript; ends the build where it finds something wrong. */
function compile() {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { status, error } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

/** Removes what an earlier build made of a source file that is gone: it would go on being loaded and published. */
function removeOrphans(directory) {
  if (!existsSync(directory)) return;
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const made = /^(?<stem>.*?)\.(?:js|js\.map|d\.ts)$/.exec(entry.name);
    if (!entry.isFile() || made === null || entry.name.startsWith('workflow-bundle.')) continue;
    const source = join(SRC, entry.parentPath.slice(DIST.length), `${made.groups.stem}.ts`);
    if (!existsSync(source)) rmSync(join(entry.parentPath, entry.name));
  }
}
