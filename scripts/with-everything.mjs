#!/usr/bin/env node
// The script of `npm run demo`, `npm test` and its longer forms, `npm run verify` and `npm run temporal:install`:
// installs what is missing, then does the work. Plain Node, because before the first run nothing else is installed.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { DIST, ROOT, whyBuild, whyInstall } from './build/freshness.mjs';
import { runTests } from './build/runTests.mjs';

/** Options for Node: it runs TypeScript, and loads this repository's packages from their sources. */
const FROM_SOURCE = ['--conditions=@slipway/source', '--import', 'tsx'];

/** The projects of `vitest.config.ts` that are fast enough to run before every push. */
const QUICK = ['unit', 'alone', 'platform', 'workflows', 'e2e'].map((project) => `--project=${project}`);

/** How long the model and the generated requests are. In a full test, each has a part of its own that is long. */
const LENGTHS = ['SLIPWAY_MODEL_RUNS', 'SLIPWAY_FUZZ_RUNS', 'SLIPWAY_FUZZ_SECONDS'];

/** Each script's function, which returns the exit code. */
const SCRIPTS = {
  demo: async (args) => {
    prepare();
    if (!(await temporalIsElsewhere())) await ensureTemporal();
    return run('node', [join(ROOT, 'bin/slipway.js'), 'demo', ...args]);
  },
  test: async (args) => {
    prepare();
    // Also if TEMPORAL_ADDRESS is set: the end-to-end tests start, stop and restart their own servers.
    await ensureTemporal();
    return runTests(args.length === 0 ? QUICK : args);
  },
  'test:unit': (args) => {
    prepare();
    return runTests(['--project=unit', '--project=alone', ...args]);
  },
  'test:crash': (args) => runOnTemporal('test/e2e/crash/matrix.ts', args),
  'test:chaos': (args) => runOnTemporal('test/e2e/chaos/run.ts', args),
  'test:stress': (args) => runOnTemporal('test/e2e/stress/run.ts', args),
  'test:full': () => {
    const parts = ['', ':crash', ':chaos', ':fuzz', ':model', ':promotions', ':stress'].map(
      (part) => `test${part}`,
    );
    const results = parts.map((part) => {
      say(part);
      const startedAt = Date.now();
      const code =
        part === 'test'
          ? npm(['run', '--silent', part, '--', '--project=*'], without(process.env, LENGTHS))
          : npm(['run', '--silent', part]);
      const minutes = Math.round((Date.now() - startedAt) / 60_000);
      return { code, summary: `${part} ${code === 0 ? 'passed' : `failed (${code})`} in ${minutes} min` };
    });
    say(results.map(({ summary }) => summary).join(', '));
    return results.every(({ code }) => code === 0) ? 0 : 1;
  },
  verify: async (args) => {
    install();
    for (const script of ['format:check', 'lint', 'types', 'knip', 'circles', 'docs:build', 'packages']) {
      say(script);
      const code = npm(['run', '--silent', script]);
      if (code !== 0) return code;
    }
    return SCRIPTS.test(args);
  },
  'temporal:install': async () => {
    prepare();
    if (await temporalIsElsewhere()) return 0;
    const { path, origin } = await ensureTemporal();
    say(`Temporal: ${path} (${origin})`);
    return 0;
  },
};

const [name = '', ...args] = process.argv.slice(2);
const script = SCRIPTS[name];
if (script === undefined) {
  process.stderr.write(`usage: with-everything.mjs ${Object.keys(SCRIPTS).join('|')}\n`);
  process.exit(1);
}
try {
  process.exitCode = await script(args);
} catch (error) {
  if (error.code === undefined) throw error;
  process.stderr.write(
    `error ${error.code}: ${error.message}\n${error.hint === undefined ? '' : `${error.hint}\n`}`,
  );
  process.exitCode = error.exitCode ?? 1;
}

/** Runs a test program that needs Temporal. */
async function runOnTemporal(script, args) {
  prepare();
  await ensureTemporal();
  return run('node', [...FROM_SOURCE, join(ROOT, script), ...args]);
}

/** Installs the dependencies and builds, if needed. */
function prepare() {
  install();
  const why = whyBuild();
  if (why === undefined) return;
  say(`building: ${why}`);
  // Only `verify` checks types; the others do not wait for that.
  const code = npm(['run', '--silent', 'build', '--', '--no-types']);
  if (code !== 0) process.exit(code);
}

function install() {
  const why = whyInstall();
  if (why === undefined) return;
  say(`installing dependencies: ${why}`);
  // Shows progress although this script was started with `--silent`, but no warnings of packages about each other: a new
  // contributor would see a screenful of them first.
  const code = npm(['ci', '--loglevel=error']);
  if (code !== 0) process.exit(code);
}

async function ensureTemporal() {
  const built = pathToFileURL(join(DIST, 'temporal/server/installation/installation.js')).href;
  const { installTemporal } = await import(built);
  return installTemporal({ onProgress: say });
}

async function temporalIsElsewhere() {
  const { loadClientConfigProfile } = await import('@temporalio/envconfig');
  const { address } = loadClientConfigProfile();
  if (address !== undefined) say(`using the Temporal at ${address}: nothing to install`);
  return address !== undefined;
}

function without(env, names) {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)));
}

/** Runs the npm that runs this script; without one, the npm on the PATH. */
function npm(npmArgs, env) {
  const cli = process.env.npm_execpath;
  if (cli !== undefined && /\.[cm]?js$/.test(cli)) return run('node', [cli, ...npmArgs], env);
  return run(process.platform === 'win32' ? 'npm.cmd' : 'npm', npmArgs, env);
}

function run(command, commandArgs, env = process.env) {
  const file = command === 'node' ? process.execPath : command;
  const { status, signal, error } = spawnSync(file, commandArgs, { cwd: ROOT, stdio: 'inherit', env });
  if (error !== undefined) throw error;
  return status ?? (signal === 'SIGINT' ? 130 : 1);
}

function say(line) {
  process.stdout.write(`> ${line}\n`);
}
