#!/usr/bin/env node
// Builds Slipway: `src/` of each package to its `dist/`, then the workflow bundle that the worker loads, and the
// bundles of the command and the platform. Fast if nothing changed.
//
//   node scripts/build.mjs
//   node scripts/build.mjs --no-types    without type checking, if that runs separately or does not matter
//   node scripts/build.mjs --package     for publishing: with type declarations, and without earlier builds
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { bundlePage } from './build/bundlePage.mjs';
import { bundleCommand, bundlePlatform } from './build/bundleProgram.mjs';
import { bundleWorkflows } from './build/bundleWorkflows.mjs';
import { checkTypes, compile, declareTypes } from './build/compile.mjs';
import { copyApiPage } from './build/copyApiPage.mjs';
import { DIST, PACKAGES, stampBuild } from './build/freshness.mjs';
import { writeCommandReference, writeConfigSchema, writeEvents } from './build/generate.mjs';
import { prepareDatabase } from './build/prepareDatabase.mjs';
import { writeBuildInfo } from './build/writeBuildInfo.mjs';

const { values: options } = parseArgs({
  options: { 'no-types': { type: 'boolean', default: false }, package: { type: 'boolean', default: false } },
});
const startedAt = Date.now();
if (!options['no-types']) checkTypes();
Object.values(PACKAGES).forEach(compile);
if (options.package) [PACKAGES.contract, PACKAGES.platform].forEach(declareTypes);
const workflows = await bundleWorkflows();
writeBuildInfo();
copyApiPage();
await prepareDatabase();
await writeConfigSchema();
await writeCommandReference();
await writeEvents();
const bundling = { keepEarlier: !options.package };
const page = await bundlePage(join(DIST, 'page'));
const command = await bundleCommand(bundling);
const platform = await bundlePlatform(bundling);
stampBuild(startedAt);
const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
process.stdout.write(
  `built dist/ in ${seconds} s (workflows ${workflows}, page ${page}, command ${command}, platform ${platform})\n`,
);
