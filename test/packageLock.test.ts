import { readFileSync } from 'node:fs';

import { expect, it } from 'vitest';

interface LockedPackage {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const text = readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8');
const { packages } = JSON.parse(text) as { readonly packages: Readonly<Record<string, LockedPackage>> };

it('the lock file contains the packages of every system: a missing one fails `npm ci` on all', () => {
  const missing = Object.entries(packages).flatMap(([path, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .filter((name) => !isLocked(path, name))
      .map((name) => `${path} needs ${name}`),
  );
  expect(missing).toEqual([]);
});

it('the lock file contains no download address', () => {
  expect(text).not.toMatch(/"resolved": "http/);
});

/** Resolves a package as Node does: in the folder itself, then in each parent folder. */
function isLocked(path: string, name: string): boolean {
  const parts = path.split('/node_modules/');
  return [...parts.keys(), parts.length].some((depth) => {
    const folder = parts.slice(0, depth).join('/node_modules/');
    return [folder, 'node_modules', name].filter((part) => part !== '').join('/') in packages;
  });
}
