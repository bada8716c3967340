#!/usr/bin/env node
// The version of the three packages, the chart and the image, which is one.
//
//   npm run release 0.2.0               sets it in every file that names it, and dates what CHANGELOG.md calls unreleased
//   node scripts/release.mjs --notes    prints what CHANGELOG.md says about it
import { readFileSync, writeFileSync } from 'node:fs';

const MANIFESTS = ['package.json', 'packages/contract/package.json', 'packages/platform/package.json'];
const LOCK = 'package-lock.json';
const TEXTS = ['deploy/helm/slipway/Chart.yaml', 'docker-compose.yml', 'docs/kubernetes.md'];
const NOTES = 'CHANGELOG.md';
const UNRELEASED = 'Unreleased';

const { version: current } = JSON.parse(readFileSync('package.json', 'utf8'));
const [asked = ''] = process.argv.slice(2);
try {
  if (asked === '--notes') process.stdout.write(`${notesOf(current)}\n`);
  else setVersion(asked);
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

function setVersion(next) {
  if (!/^\d+\.\d+\.\d+$/.test(next)) throw new Error('Name the version: npm run release 0.2.0');
  if (next.localeCompare(current, 'en', { numeric: true }) < 0)
    throw new Error(`${next} is before ${current}`);
  if (sections().has(next)) throw new Error(`${NOTES} already has ${next}: choose a newer version`);
  if (notesOf(UNRELEASED) === '') throw new Error(`${NOTES} has no line below "${UNRELEASED}"`);

  const setIn = (manifest) => {
    manifest.version = next;
    for (const group of [manifest.dependencies, manifest.peerDependencies])
      for (const name of Object.keys(group ?? {})) if (name.startsWith('@slipway/')) group[name] = next;
  };
  for (const file of MANIFESTS) editJson(file, setIn);
  editJson(LOCK, (lock) => {
    lock.version = next;
    for (const file of MANIFESTS) setIn(lock.packages[file.replace(/\/?package\.json$/, '')]);
  });
  for (const file of TEXTS)
    for (const before of ['slipway:', 'ersion: '])
      edit(file, (text) => text.replaceAll(`${before}${current}`, `${before}${next}`));
  const today = new Date().toISOString().slice(0, 10);
  edit(NOTES, (text) => text.replace(`## ${UNRELEASED}\n`, `## ${next} (${today})\n`));
}

/** What `CHANGELOG.md` says about each version. */
function sections() {
  const [, ...parts] = readFileSync(NOTES, 'utf8').split(/^## /m);
  return new Map(parts.map((part) => [part.match(/^\S+/)[0], part.slice(part.indexOf('\n')).trim()]));
}

function notesOf(name) {
  const notes = sections().get(name);
  if (notes === undefined) throw new Error(`${NOTES} has no section "${name}"`);
  return notes;
}

function edit(file, change) {
  writeFileSync(file, change(readFileSync(file, 'utf8')));
}

function editJson(file, change) {
  edit(file, (text) => {
    const content = JSON.parse(text);
    change(content);
    return `${JSON.stringify(content, null, 2)}\n`;
  });
}
