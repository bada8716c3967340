#!/usr/bin/env node
// Lists the packages that users install with Slipway, with their licenses, from the lock file. Exits with 1 if a
// license is missing or not allowed.
import { readFileSync } from 'node:fs';

const ALLOWED = new Set([
  ...['MIT', 'MIT-0', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'Unlicense', 'CC0-1.0'],
  'BlueOak-1.0.0',
  // For data: caniuse-lite.
  'CC-BY-4.0',
]);
/** Licenses from LICENSE files, for packages without one in the manifest. */
const BY_FILE = { unionfs: 'Unlicense' };

const lock = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'));
const listed = new Map();
for (const [path, entry] of Object.entries(lock.packages)) {
  if (!path.includes('node_modules/') || entry.link === true || entry.dev === true) continue;
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  listed.set(`${name} ${entry.version}`, entry.license ?? BY_FILE[name]);
}
for (const [installed, license] of [...listed].sort(([one], [other]) => one.localeCompare(other, 'en'))) {
  process.stdout.write(`${installed}  ${license ?? 'no license'}\n`);
  if (isAllowed(license)) continue;
  process.stderr.write(`${installed}: ${license ?? 'no license'} is not among the allowed licenses\n`);
  process.exitCode = 1;
}

/** `(MIT OR Apache-2.0)` needs one of them, `MIT AND BSD-3-Clause` both. */
function isAllowed(license) {
  const words = (license ?? '').replaceAll(/[()]/g, '');
  return words.split(' OR ').some((choice) => choice.split(' AND ').every((one) => ALLOWED.has(one.trim())));
}
