// Writes package.json and package-lock.json of a folder in which "npm ci" installs packages of this repository as
// "npm install" would, but with the versions of its lock file.
//
//   node packages/action/writeLock.mjs FOLDER NAME@VERSION … | NAME@file:PACKED …
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder, ...wanted] = process.argv.slice(2);
const { version, packages } = JSON.parse(
  readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'),
);
const root = { name: 'installed', version, dependencies: {} };
const installed = {};
for (const each of wanted) {
  const [, name, spec] = each.match(/^(.+?)@([^@/].*)$/);
  root.dependencies[name] = spec;
  const { dependencies, bin, engines } =
    packages[name.replace(/^slipway$/, '').replace('@slipway/', 'packages/')];
  const resolved = spec.startsWith('file:') ? spec : undefined;
  installed[`node_modules/${name}`] = { version, resolved, dependencies, bin, engines };
}
// npm leaves out what none of them needs.
const others = Object.entries(packages).filter(
  ([path, { dev }]) => /^node_modules\/(?!@slipway\/)/.test(path) && dev !== true,
);
const lock = {
  ...root,
  lockfileVersion: 3,
  packages: { '': root, ...installed, ...Object.fromEntries(others) },
};
writeFileSync(join(folder, 'package.json'), JSON.stringify(root));
writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock));
