// `npm run test:nodes`: the demo, the unit tests and the tutorial on each supported version of Node. The binaries come
// from the npm package `node`. Arguments select versions (`22 24`) and parts (`demo unit tutorial`).
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

import { ROOT } from './build/freshness.mjs';

const VERSIONS = ['20', '22', '24', '26'];
const PARTS = {
  demo: ['demo'],
  unit: ['test:unit'],
  tutorial: ['test', '--project', 'nightly', 'test/e2e/tutorial.test.ts'],
};

const asked = process.argv.slice(2);
const unknown = asked.filter((word) => !(word in PARTS) && !/^\d+(?:\.\d+)*$/.test(word));
if (unknown.length > 0) {
  process.stderr.write(`usage: nodeMatrix.mjs [VERSION…] [${Object.keys(PARTS).join('|')}…]\n`);
  process.exit(1);
}
const versions = orAll(VERSIONS, (word) => /^\d/.test(word));
const parts = orAll(Object.keys(PARTS), (word) => word in PARTS);

const folder = mkdtempSync(join(tmpdir(), 'slipway-nodes-'));
const results = [];
try {
  for (const version of versions) {
    const bin = install(version);
    for (const part of parts) {
      process.stdout.write(`\n> Node ${version}: ${part}\n`);
      const startedAt = Date.now();
      const passed =
        bin !== undefined && run(join(bin, 'node'), ['scripts/with-everything.mjs', ...PARTS[part]], bin);
      const seconds = Math.round((Date.now() - startedAt) / 1_000);
      results.push({
        version,
        part,
        passed,
        line: `Node ${version}  ${part}  ${passed ? 'passed' : 'FAILED'}  ${seconds} s`,
      });
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.stdout.write(`\n${results.map(({ line }) => line).join('\n')}\n`);
process.exitCode = results.every(({ passed }) => passed) ? 0 : 1;

function orAll(all, isOne) {
  const chosen = asked.filter(isOne);
  return chosen.length === 0 ? all : chosen;
}

/** The folder of a version's binary; undefined if npm could not install it. */
function install(version) {
  const prefix = join(folder, version);
  const args = [
    'install',
    '--prefix',
    prefix,
    '--no-save',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    `node@${version}`,
  ];
  return run('npm', args) ? join(prefix, 'node_modules/node/bin') : undefined;
}

/** Runs a program with `bin` first on the PATH, so that `node` is the one in it. */
function run(file, args, bin) {
  const env =
    bin === undefined ? process.env : { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
  const { status, error } = spawnSync(file, args, { cwd: ROOT, stdio: 'inherit', env });
  if (error !== undefined) throw error;
  return status === 0;
}
